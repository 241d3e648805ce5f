"""What does the web say? Search by Tavily, answers kept on disk, and the text of a page behind a hit."""
