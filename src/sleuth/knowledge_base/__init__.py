"""What does a hosted knowledge base hold? Retrieval in slices, ingestion, and an index that answers in its
place.
"""
