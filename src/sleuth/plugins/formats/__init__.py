"""Readers of formats that few folders have: manual pages, LaTeX, BibTeX, iCalendar, org, AsciiDoc, RTF and Outlook."""
