"""Small sound files of the formats that are zip archives, and mutations of their members."""

import random
import zipfile
from collections.abc import Mapping
from io import BytesIO

from tests.fuzz.mutating import mutate

_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
)
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml"
ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
_RELATIONS = """<?xml version="1.0"?><Relationships
xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"
Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
Target="word/document.xml"/></Relationships>"""
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of these files."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def docx_of(body: str, doctype: str = "") -> bytes:
    """Return a Word document with this body, as XML."""
    document = f'<?xml version="1.0"?>{doctype}<w:document {_WORD}><w:body>{body}</w:body></w:document>'
    return packed(
        {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": _RELATIONS,
            "word/document.xml": document,
            "../../escape.xml": "<x/>",
        }
    )


def opendocument(kind: str, body: str) -> bytes:
    """Return an OpenDocument file.

    Args:
        kind: text, spreadsheet or presentation.
        body: what its content holds, in elements of OpenDocument.
    """
    content = f"<office:{kind}>{body}</office:{kind}>"
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return packed(
        {
            "mimetype": media_type,
            "META-INF/manifest.xml": "<manifest:manifest "
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
            f'manifest:full-path="/" manifest:media-type="{media_type}"/></manifest:manifest>',
            "content.xml": f'<?xml version="1.0"?><office:document-content {_ODF}><office:body>{content}</office:body>'
            "</office:document-content>",
        }
    )


def workbook(rows: str) -> bytes:
    """Return a workbook of one sheet with these rows, in elements of SpreadsheetML."""
    return packed(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
            '<sheet name="Plan" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>',
        }
    )


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def book(chapter: str) -> bytes:
    """Return an EPUB of one chapter."""
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="book.opf"/></rootfiles></container>',
            "book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
            '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
            "a.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{chapter}</body></html>',
        }
    )


def presentation() -> bytes:
    """Return a presentation of one slide, as python-pptx writes it, without its pictures and layouts' text."""
    import pptx

    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "words"
    buffer = BytesIO()
    slides.save(buffer)
    return buffer.getvalue()


PACKED = {
    "xlsx": workbook(f'<row r="1">{cell("A1", "Person")}{cell("B1", "Room")}</row>'
                     f'<row r="2">{cell("A2", "words")}{cell("B2", "x")}</row>'),
    "ods": opendocument("spreadsheet", '<table:table table:name="Plan"><table:table-row><table:table-cell '
                        'office:value-type="string"><text:p>words</text:p></table:table-cell></table:table-row></table:table>'),
    "odt": opendocument("text", '<text:h text:outline-level="1">One</text:h><text:p>words</text:p>'),
    "odp": opendocument("presentation", '<draw:page draw:name="a"><draw:frame><draw:text-box><text:p>words</text:p>'
                        "</draw:text-box></draw:frame></draw:page>"),
    "epub": book("<h1>One</h1><p>words</p>"),
    "pptx": presentation(),
}  # fmt: skip


def mutate_member(data: bytes, rng: random.Random, most: int) -> bytes:
    """Return a zip archive in which one file is changed one to four times, to at most so many bytes."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    member = rng.choice(sorted(members))
    return packed(members | {member: mutate((members[member],), rng, most)})
