"""Readers of formats that few have: manual pages, LaTeX, BibTeX, iCalendar, org, AsciiDoc, RTF and subtitles."""
