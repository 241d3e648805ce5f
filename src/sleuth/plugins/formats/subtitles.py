"""Loader of subtitles (WebVTT and SubRip): what is said, each cue below its time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sleuth.ingest import ReadOptions
from sleuth.ingest.loaders import FileBytes, document
from sleuth.types import Document

_time = re.compile(r"[ \t]{0,20}((?:\d{1,3}:)?\d{1,2}:\d{1,2})(?:[.,]\d{1,3})?[ \t]+-->")
_speaker = re.compile(r"<v(?:\.[\w.]{0,100})? ([^<>]{1,100})>")
_tag = re.compile(r"</?[^<>]{0,200}>|\{\\[^{}]{0,100}\}")


def load_subtitles(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield all cues, each line at its place: a line `[00:01:02]`, and below it what is said."""
    text, metadata = file.text()
    lines: list[str] = []
    source = text.split("\n")
    is_cue = False
    for line in source:
        if match := _time.match(line):
            is_cue = True
            lines.append(f"[{':'.join(part.zfill(2) for part in match[1].split(':'))}]")
            continue
        is_cue = is_cue and bool(line.strip())
        speech = _tag.sub("", _speaker.sub(r"\1: ", line)).strip() if is_cue else ""
        # A sentence that goes on in the next cue has the time in between; so does a speaker's name.
        lines.append(speech)
    if not any(line and not line.startswith("[") for line in lines):
        lines = []
    yield document(file, "\n".join(lines), metadata)
