"""Readers of mail: single messages, mailboxes, folders in maildir format, saved pages and Outlook's messages."""
