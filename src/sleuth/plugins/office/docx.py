"""Extracts text from Word documents, titled by their first heading of level 1."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Final
from zipfile import ZipFile

from sleuth.ingest.extraction import Extracted, ExtractionError, html_to_markdown, name_columns, within
from sleuth.plugins.office.zips import opened_zip

_BODY: Final = "word/document.xml"
_wrapping = re.compile(
    rb"(?s)</?w:(?:fldSimple|ruby|rubyBase)\b[^<>]*>|<w:(rt|rubyPr)>[^<]*+(?>(?:<(?!/?w:(?:rt|rubyPr)>)[^<]*+)*)</w:\1>"
)


def extract_docx(data: bytes, limit: int) -> Extracted:
    """Extract the document as Markdown."""
    import mammoth

    with opened_zip(data, limit, "docx") as archive:
        # Simple fields (numbers of figures) and text below ruby become text: mammoth drops them.
        if _BODY in archive.namelist() and _wrapping.search(body := archive.read(_BODY)):
            out = BytesIO()
            with ZipFile(out, "w") as unwrapped:
                for member in archive.infolist():
                    is_body = member.filename == _BODY
                    content = _wrapping.sub(b"", body) if is_body else archive.read(member)
                    unwrapped.writestr(member.filename, content)
            data = out.getvalue()
        image = mammoth.images.img_element(lambda _: {"src": ""})
        html = mammoth.convert_to_html(BytesIO(data), convert_image=image).value
    title, text = html_to_markdown(html)
    if not text:
        raise ExtractionError("no text in it")
    return Extracted(within(name_columns(text), limit), title)
