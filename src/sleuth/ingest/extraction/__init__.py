"""Extracts text from PDF, Word and HTML files, in processes with limits of time and memory."""
