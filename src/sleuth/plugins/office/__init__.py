"""Readers of office documents, books and XML: Word, PowerPoint, spreadsheets, OpenDocument, EPUB."""
