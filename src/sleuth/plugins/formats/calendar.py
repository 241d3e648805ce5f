"""Loader of calendars (iCalendar): a section for each event, task, journal entry and time of availability."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders import FileBytes, document
from sleuth.types import Document

_ENTRIES: Final = frozenset({"VEVENT", "VTODO", "VJOURNAL", "VAVAILABILITY", "AVAILABLE"})
_NAMES: Final = {
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "LOCATION": "Where", "ORGANIZER": "Organizer",
    "ATTENDEE": "With", "STATUS": "Status", "CATEGORIES": "Categories", "RRULE": "Repeats",
}  # fmt: skip
_line = re.compile(r'([A-Za-z-]{1,100})((?:;[^":;]{0,200}(?:"[^"]{0,1000}")?){0,20}):(.*)')
_common_name = re.compile(r';CN="?([^";:]{1,200})', re.IGNORECASE)
_moment = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})\d{2}(Z?))?$")
_escape = re.compile(r"\\([nN,;\\])")


def load_calendar(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield all entries, titled by the calendar's name."""
    text, metadata = file.text()
    sections: list[str] = []
    facts: dict[str, list[str]] = {}
    open_entry = inner = title = ""
    for line in text.replace("\n ", "").replace("\n\t", "").split("\n"):
        match = _line.match(line)
        if match is None:
            continue
        name, value = match[1].upper(), _escape.sub(_unescaped, match[3]).strip()
        if inner:  # an alarm has a title and text of its own, which only repeat its entry's
            inner = "" if (name, value.upper()) == ("END", inner) else inner
        elif name == "BEGIN" and open_entry and value.upper() not in _ENTRIES:
            inner = value.upper()
        elif name == "BEGIN":
            sections += [_section(facts)] if "SUMMARY" in facts else []
            facts, open_entry = {}, value.upper() if value.upper() in _ENTRIES else ""
        elif name == "END" and value.upper() == open_entry:
            sections.append(_section(facts))
            facts, open_entry = {}, ""
        elif name == "X-WR-CALNAME":
            title = value
        elif open_entry and value:
            person = _common_name.search(match[2]) if name in ("ATTENDEE", "ORGANIZER") else None
            facts.setdefault(name, []).append(person.group(1) if person else value)
    yield document(file, "\n\n".join(sections), {**({"title": title} if title else {}), **metadata})


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] in "nN" else match[1]


def _section(facts: dict[str, list[str]]) -> str:
    lines = [f"# {' '.join(' '.join(facts.get('SUMMARY', ['Without a title'])).split())}", ""]
    for name, label in _NAMES.items():
        if name in facts:
            lines.append(f"{label}: {', '.join(map(_readable, facts[name]))}")
    if "DESCRIPTION" in facts:
        lines += ["", *facts["DESCRIPTION"]]
    return "\n".join(lines)


def _readable(value: str) -> str:
    """Return a time as 2024-05-01 09:00, anything else without `mailto:`."""
    match = _moment.match(value)
    if match is None:
        return re.sub("^mailto:", "", value, flags=re.IGNORECASE)
    year, month, day, hour, minute, zone = match.groups()
    clock = f" {hour}:{minute}{' UTC' if zone else ''}" if hour else ""
    return f"{year}-{month}-{day}{clock}"
