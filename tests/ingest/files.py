"""Files that tests read: made here, byte by byte, so that none need be kept."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from io import BytesIO


def pdf(pages: Sequence[Sequence[str]], *, title: str = "", encrypted: bool = False) -> bytes:
    """A PDF of these lines per page, in Latin-1."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        drawn = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        content = f"BT /F1 12 Tf 72 720 Td {drawn} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    info = len(objects)
    trailer = f"/Root 1 0 R /Info {info} 0 R"
    if encrypted:
        # No password gives this /U: the reader has to ask for one.
        key = "AB" * 32
        objects.append(f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{key}> /U <{key}> >>")
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<00> <00>]"
    return _pdf_file(objects, trailer)


def pdf_of(content: str, resources: str, further: Sequence[str]) -> bytes:
    """A PDF of one page with this content and these resources; object 3 is a font, further ones begin at 6."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << {resources} >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        *further,
    ]
    return _pdf_file(objects, "/Root 1 0 R")


def _pdf_file(objects: Sequence[str], trailer: str) -> bytes:
    out = BytesIO(b"%PDF-1.4\n")
    out.seek(0, 2)
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1"))
    start = out.tell()
    entries = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{entries}".encode())
    out.write(f"trailer\n<< /Size {len(objects) + 1} {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


_TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml"
ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
_RELATIONS = """<?xml version="1.0"?><Relationships
xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"
Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
Target="word/document.xml"/></Relationships>"""
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def docx(paragraphs: Sequence[tuple[str, str]], *, padding: int = 0) -> bytes:
    """A Word document of (style, text); `padding` blanks make it large unpacked and small packed."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    return docx_of(body, padding=padding)


def docx_of(body: str, doctype: str = "", *, padding: int = 0) -> bytes:
    """A Word document of this body, as XML."""
    document = f'<?xml version="1.0"?>{doctype}<w:document {_WORD}><w:body>{body}</w:body></w:document>'
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        archive.writestr("word/document.xml", document)
        archive.writestr("../../escape.xml", "<x/>")
        if padding:
            archive.writestr("word/padding.xml", " " * padding)
    return out.getvalue()
