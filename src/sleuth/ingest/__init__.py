"""Which files are there, and which documents are in them?"""
