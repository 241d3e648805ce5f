"""The SQLite record: its layout, rows and coded texts."""
