"""Extracts text from PowerPoint presentations: slides as sections, with their tables and notes."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from sleuth.ingest.extraction import Extracted, ExtractionError, name_columns, within
from sleuth.plugins.office.zips import opened_zip

if TYPE_CHECKING:
    from pptx.slide import Slide


def extract_pptx(data: bytes, limit: int) -> Extracted:
    """Extract all slides as Markdown, titled by the presentation's own title, else by that of the first slide."""
    import pptx

    with opened_zip(data, limit, "pptx"):
        presentation = pptx.Presentation(BytesIO(data))
        slides = [_slide(number, slide) for number, slide in enumerate(presentation.slides, 1)]
        properties = presentation.core_properties
        title, author = properties.title or "", properties.author or ""
    if all(slide == f"# Slide {number}" for number, slide in enumerate(slides, 1)):
        raise ExtractionError("no text in its slides")
    if title in ("", "PowerPoint Presentation"):
        title = slides[0].partition("\n")[0].partition(": ")[2]
    metadata: dict[str, Any] = {"slides": len(slides)} | ({"author": author} if author else {})
    return Extracted(within(name_columns("\n\n".join(slides)), limit), title, metadata)


def _slide(number: int, slide: Slide) -> str:
    heading = slide.shapes.title
    title = (
        " ".join(heading.text_frame.text.split()) if heading is not None and heading.has_text_frame else ""
    )
    parts = [f"# Slide {number}: {title}" if title else f"# Slide {number}"]
    for shape in _shapes(slide.shapes):
        if heading is not None and shape.shape_id == heading.shape_id:
            continue
        if shape.has_text_frame:
            paragraphs = ((" ".join(line.text.split()), line.level) for line in shape.text_frame.paragraphs)
            lines = [f"{'  ' * (level - 1)}- {text}" if level else text for text, level in paragraphs if text]
            parts.append("\n".join(lines))
        elif getattr(shape, "has_table", False):
            rows = ([" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows)
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        parts.append(f"Notes: {notes}" if notes else "")
    return "\n\n".join(filter(None, parts))


def _shapes(shapes: Any) -> Iterator[Any]:
    """Yield shapes, and those inside groups, in the order of the file."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape
