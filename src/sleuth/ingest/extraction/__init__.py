"""Text out of PDF, Word and HTML files, in processes with limits of time and memory."""
