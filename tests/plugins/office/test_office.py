"""Office documents that other programs wrote: headings, lists, tables, notes and properties."""

import sys
import zipfile
from base64 import b64decode
from datetime import date
from io import BytesIO
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from odf import draw, opendocument, table, text
from pptx.util import Inches

from sleuth.ingest.loaders.file import kind_of
from sleuth.text.chunkers import Chunker
from tests.fuzz.samples import cell, docx_of, workbook
from tests.ingest.extraction.reading import only, reason

PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


def test_a_word_document(tmp_path: Path) -> None:
    """Headings, lists and a table of a document of python-docx are Markdown; rows of long tables name their columns."""
    document = docx.Document()
    document.add_heading("Handbook", 1)
    document.add_paragraph("Milk is ordered on Mondays.")
    document.add_paragraph("first point", style="List Bullet")
    rows = document.add_table(1, 2)
    rows.rows[0].cells[0].text, rows.rows[0].cells[1].text = "Person", "Task"
    for number in range(60):
        cells = rows.add_row().cells
        cells[0].text, cells[1].text = f"Person {number}", f"washes the cups of room {number}"
    document.save(str(tmp_path / "a.docx"))
    content = only(tmp_path / "a.docx")
    assert content.metadata["title"] == "Handbook"
    assert content.page_content.startswith("# Handbook\n\nMilk is ordered on Mondays.\n\n- first point")
    assert "| Person: Person 59 | Task: washes the cups of room 59 |" in content.page_content
    for chunk in Chunker(100, 0).split(content)[2:]:
        assert "Task: washes" in chunk.text


def test_numbers_of_figures(tmp_path: Path) -> None:
    """Text inside simple fields, such as the number of a figure, is kept."""
    body = (
        '<w:p><w:r><w:t xml:space="preserve">Figure </w:t></w:r><w:fldSimple w:instr=" SEQ Figure ">'
        "<w:r><w:t>7</w:t></w:r></w:fldSimple><w:r><w:t>: the lock.</w:t></w:r></w:p>"
    )
    assert only(tmp_path / "a.docx", docx_of(body)).page_content == "Figure 7: the lock."


def test_words_with_their_readings(tmp_path: Path) -> None:
    """Words below ruby are text, their readings are left out."""
    run = "<w:r><w:t>{}</w:t></w:r>"
    reading, word = run.format("とうきょう"), run.format("東京")
    ruby = f"<w:r><w:ruby><w:rubyPr/><w:rt>{reading}</w:rt><w:rubyBase>{word}</w:rubyBase></w:ruby></w:r>"
    assert only(tmp_path / "a.docx", docx_of(f"<w:p>{ruby}{run.format('駅')}</w:p>")).page_content == "東京駅"


CELL = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
FLAT = (
    '<?xml version="1.0"?><office:document xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:dc="d">'
    "<office:meta><dc:title>Rooms</dc:title></office:meta><office:styles>red</office:styles><office:body>{}</office:body>"
    "</office:document>"
)


def test_flat_opendocument(tmp_path: Path) -> None:
    """Flat texts and sheets are read like packed ones: no styles, headings, rows whose cells keep their columns."""
    note = '<office:text><text:h text:outline-level="2">Crew</text:h><text:p>Ann rows.</text:p></office:text>'
    content = only(tmp_path / "a.fodt", FLAT.format(note))
    assert (content.page_content, content.metadata["title"]) == ("## Crew\n\nAnn rows.", "Rooms")
    names, row = (
        "".join(CELL.format("", cell) for cell in cells)
        for cells in (("Person", "Desk", "Floor", "Room"), ("Ann",))
    )
    row += '<table:table-cell table:number-columns-repeated="2"/>' + CELL.format("", "12")
    rows = f"<table:table-row>{names}</table:table-row><table:table-row>{row}</table:table-row>"
    sheet = f'<office:spreadsheet><table:table table:name="May">{rows}</table:table></office:spreadsheet>'
    assert only(tmp_path / "a.fods", FLAT.format(sheet)).page_content == (
        "## May\n\n| Person | Desk | Floor | Room |\n| Ann |  |  | 12 |"
    )


def test_notes_of_opendocument(tmp_path: Path) -> None:
    """A note follows its paragraph, whose sentence stays whole."""
    body = "<text:note-body><text:p>Since 1840.</text:p></text:note-body>"
    note = f"<text:note><text:note-citation>1</text:note-citation>{body}</text:note>"
    content = only(
        tmp_path / "a.fodt", FLAT.format(f"<text:p>The lock{note} leaks.</text:p><text:p>End.</text:p>")
    )
    assert content.page_content == "The lock leaks.\n\nSince 1840.\n\nEnd."


def test_a_presentation(tmp_path: Path) -> None:
    """Slides of python-pptx are sections with their points, tables, groups and notes."""
    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "Roadmap"
    first.placeholders[1].text = "Ship in May"
    point = first.placeholders[1].text_frame.add_paragraph()
    point.text, point.level = "only if tests pass", 1
    first.notes_slide.notes_text_frame.text = "Mention the budget."
    second = presentation.slides.add_slide(presentation.slide_layouts[6])
    cells = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for row, values in enumerate((("Quarter", "Sales"), ("Q1", "12"))):
        for column, value in enumerate(values):
            cells.cell(row, column).text = value
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "inside a group"
    presentation.core_properties.author = "Ada"
    presentation.save(str(tmp_path / "a.pptx"))
    content = only(tmp_path / "a.pptx")
    assert content.page_content == (
        "# Slide 1: Roadmap\n\nShip in May\n- only if tests pass\n\nNotes: Mention the budget.\n\n"
        "# Slide 2\n\n| Quarter | Sales |\n| Q1 | 12 |\n\ninside a group"
    )
    assert (content.metadata["title"], content.metadata["author"]) == ("Roadmap", "Ada")
    assert content.metadata["slides"] == 2


def test_a_picture_as_title(tmp_path: Path) -> None:
    """A slide whose title is a picture is read without a title."""
    presentation = pptx.Presentation()
    layout = presentation.slide_layouts[8]
    slide = presentation.slides.add_slide(layout)
    picture = slide.placeholders[1]
    slide.shapes.title._element.getparent().remove(slide.shapes.title._element)
    picture._element.ph.set("type", "pic")
    picture._element.ph.set("idx", "0")
    picture.insert_picture(BytesIO(PNG))
    slide.placeholders[2].text = "Boats at noon"
    presentation.core_properties.title = "Harbour"
    presentation.save(str(tmp_path / "a.pptx"))
    content = only(tmp_path / "a.pptx")
    assert (content.page_content, content.metadata["title"]) == ("# Slide 1\n\nBoats at noon", "Harbour")


def test_slides_of_titles_alone(tmp_path: Path) -> None:
    """Titles are text; slides without any are named as such."""
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "Roadmap: May"
    presentation.slides.add_slide(presentation.slide_layouts[6])
    presentation.save(str(tmp_path / "a.pptx"))
    assert only(tmp_path / "a.pptx").page_content == "# Slide 1: Roadmap: May\n\n# Slide 2"
    empty = pptx.Presentation()
    empty.slides.add_slide(empty.slide_layouts[6])
    empty.save(str(tmp_path / "b.pptx"))
    assert reason(tmp_path / "b.pptx") == "no text in its slides"


def test_a_workbook(tmp_path: Path) -> None:
    """Each row of a sheet of openpyxl names its columns; a remark above the header stays a line of its own."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Staff"
    for row in (
        ["Staff of 2024"],
        [],
        ["Name", "Since", "Room"],
        ["Ann Lee", date(2020, 1, 2), 12],
        ["Bob", None, 7.5],
    ):
        sheet.append(row)
    book.create_sheet("Empty")
    book.save(tmp_path / "a.xlsx")
    content = only(tmp_path / "a.xlsx")
    assert content.page_content == (
        "# Staff\n\n| Staff of 2024 |\n| Name | Since | Room |\n"
        "| Name: Ann Lee | Since: 2020-01-02 | Room: 12 |\n| Name: Bob | Room: 7.5 |"
    )
    assert content.metadata["sheets"] == 2
    assert {chunk.fields["heading"] for chunk in Chunker().split(content)} == {"Staff"}


def odf_table(rows: list[list[str]], name: str = "Prices") -> table.Table:
    result = table.Table(name=name)
    for row in rows:
        line = table.TableRow()
        for content in row:
            place = table.TableCell(valuetype="string")
            place.addElement(text.P(text=content))
            line.addElement(place)
        result.addElement(line)
    return result


def test_an_opendocument_text(tmp_path: Path) -> None:
    """Headings, lists, tables and blanks of a text of odfpy are Markdown; markup signs in it are text."""
    document = opendocument.OpenDocumentText()
    document.text.addElement(text.H(outlinelevel=2, text="Storage"))
    paragraph = text.P(text="Keep <cold>")
    paragraph.addElement(text.S(c=2))
    paragraph.addText("& dry")
    document.text.addElement(paragraph)
    items = text.List()
    item = text.ListItem()
    item.addElement(text.P(text="apples"))
    items.addElement(item)
    document.text.addElement(items)
    document.text.addElement(odf_table([["Fruit", "Price"], ["apple", "2"]]))
    document.save(str(tmp_path / "a.odt"))
    content = only(tmp_path / "a.odt")
    assert content.page_content == (
        "## Storage\n\nKeep <cold> & dry\n\n- apples\n\n| Fruit | Price |\n| apple | 2 |"
    )
    assert content.metadata["type"] == "odt"


def test_an_opendocument_spreadsheet(tmp_path: Path) -> None:
    """Rows of a spreadsheet of odfpy name their columns; one with an odd number is read as a document with tables."""
    book = opendocument.OpenDocumentSpreadsheet()
    sheet = odf_table([["Fruit", "Price"], ["apple", "two"]])
    book.spreadsheet.addElement(sheet)
    book.save(str(tmp_path / "a.ods"))
    assert only(tmp_path / "a.ods").page_content == (
        "# Prices\n\n| Fruit | Price |\n| Fruit: apple | Price: two |"
    )
    cell = sheet.childNodes[-1].childNodes[-1]
    cell.setAttribute("valuetype", "float")
    cell.setAttribute("value", "2,5")
    book.save(str(tmp_path / "b.ods"))
    assert "| apple | two |" in only(tmp_path / "b.ods").page_content


def test_an_opendocument_presentation(tmp_path: Path) -> None:
    """Slides of a presentation of odfpy are sections."""
    show = opendocument.OpenDocumentPresentation()
    page = draw.Page(name="Opening", masterpagename="standard")
    frame = draw.Frame(width="10cm", height="2cm")
    box = draw.TextBox()
    box.addElement(text.P(text="Welcome to the harbour"))
    frame.addElement(box)
    page.addElement(frame)
    show.presentation.addElement(page)
    show.save(str(tmp_path / "a.odp"))
    assert only(tmp_path / "a.odp").page_content == "# Slide 1: Opening\n\nWelcome to the harbour"


@pytest.mark.parametrize("extension", ["docx", "pptx", "xlsx", "xls", "ods", "odt", "odp", "epub"])
def test_damaged_files(tmp_path: Path, extension: str) -> None:
    """Truncated archives, other archives and other bytes are skipped with a reason."""
    other = BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("word/other.xml", "<x/>")
    for number, data in enumerate((b"PK\x03\x04", b"no archive", other.getvalue())):
        assert reason(tmp_path / f"{number}.{extension}", data).startswith("not readable as")


def test_office_documents_without_extension(tmp_path: Path) -> None:
    """A document without an extension is recognised by its first bytes."""
    book = openpyxl.Workbook()
    book.active.append(["one", "two"])
    book.save(tmp_path / "book")
    show = opendocument.OpenDocumentText()
    show.text.addElement(text.P(text="words"))
    show.save(str(tmp_path / "letter"))
    assert kind_of("x", docx_of("")) == "docx"
    assert only(tmp_path / "letter").metadata["type"] == "odt"
    assert only(tmp_path / "book").metadata["type"] == "xlsx"


def test_a_sheet_of_numbers_keeps_its_words(tmp_path: Path) -> None:
    """A spreadsheet that is a dump of numbers is read without its numbers."""
    numbers = "".join(
        f'<row r="{row}">'
        + "".join(f'<c r="{column}{row}"><v>{row}.{row}5</v></c>' for column in "ABCDEF")
        + "</row>"
        for row in range(3, 400)
    )
    (tmp_path / "a.xlsx").write_bytes(workbook(f'<row r="1">{cell("A1", "Turnout in Lyon")}</row>{numbers}'))
    text = only(tmp_path / "a.xlsx").page_content
    assert "Turnout in Lyon" in text
    assert len(text) < 100


def test_missing_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its package a file is skipped with the command that installs it."""
    monkeypatch.setitem(sys.modules, "mammoth", None)
    assert "pip install 'sleuth[office]'" in reason(tmp_path / "a.docx", b"any bytes")
