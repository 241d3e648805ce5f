"""Books in EPUB."""

import zipfile
from pathlib import Path

from ebooklib import epub

from tests.ingest.extraction.reading import only, reason


def test_a_book(tmp_path: Path) -> None:
    """The chapters of a book of EbookLib are read in the order of its spine, without its table of contents."""
    book = epub.EpubBook()
    book.set_title("Tides & Moons")
    book.set_language("en")
    book.add_author("Ann Lee")
    chapters = []
    for number, name in enumerate(("Ebb", "Flow"), 1):
        chapter = epub.EpubHtml(title=name, file_name=f"chapter {number}.xhtml")
        chapter.content = f"<h1>{name}</h1><p>The water of {name.lower()}.</p>"
        book.add_item(chapter)
        chapters.append(chapter)
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = ["nav", chapters[1], chapters[0]]
    epub.write_epub(str(tmp_path / "a.epub"), book)
    content = only(tmp_path / "a.epub")
    assert content.page_content == "# Flow\n\nThe water of flow.\n\n# Ebb\n\nThe water of ebb."
    assert (content.metadata["title"], content.metadata["author"]) == ("Tides & Moons", "Ann Lee")
    book.spine = []
    epub.write_epub(str(tmp_path / "b.epub"), book)
    assert reason(tmp_path / "b.epub") == "no text in its chapters"


def test_a_book_that_lists_more_than_it_holds(tmp_path: Path) -> None:
    """Chapters named by a place inside a file are read once, and those that are missing are left out."""
    container = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    hrefs = ("one.xhtml", "one.xhtml#second", "missing.xhtml")
    items = "".join(f'<item id="i{number}" href="{href}"/>' for number, href in enumerate(hrefs))
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(hrefs)))
    package = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as archive:
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("book.opf", package)
        archive.writestr("one.xhtml", "<html><body><p>The only chapter.</p></body></html>")
    assert only(tmp_path / "a.epub").page_content == "The only chapter."
