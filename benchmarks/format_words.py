"""What must be found in a file: what a few obvious lines read in it, with other means than Sleuth's readers."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any, Final

Words = Callable[[Path], str]
"""Returns the text that must be found in a file."""

_RTF_UNREAD: Final = (
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer", "field", "revtbl", "listtable",
    "themedata", "template", "xmlnstbl", "nonshppict", "shp", "generator", "bkmk", "atn", "annotation", "docvar", "pn",
    "tc", "xe", "filetbl", "ftn", "aftn",
)  # fmt: skip
_CODE: Final = r"(?s)\\begin\{(tikzpicture|verbatim|alltt|lstlisting|filecontents)\*?\}.*?\\end\{\1\*?\}"


def paragraphs(member: str, paragraph: str, pieces: str = "") -> Words:
    """Return a reader of the paragraphs in the members of an archive that match, or in a file of plain XML.

    Args:
        pieces: the element that holds the text of a paragraph; "" for all of it.
    """

    def text(path: Path) -> str:
        xml = _members(path, member) if zipfile.is_zipfile(path) else path.read_text("utf-8", "replace")
        xml = "".join(re.findall(r"(?s)<office:body>.*</office:body>", xml)) or xml
        xml = re.sub(r"(?s)<(text:note-citation|text:page-number|office:binary-data)\b.*?</\1>", " ", xml)
        xml = re.sub(r"</?text:note-body>", " ", xml)
        xml = re.sub(
            r"(?s)<(office:annotation|text:tracked-changes|mc:Fallback|office:forms)\b.*?</\1>", "", xml
        )
        if pieces:
            xml = re.sub(r"<[aw]:(?:br|tab|cr)(?:\s[^>]*)?/>|</?a:br>", f"<{pieces}> </{pieces}>", xml)
        texts = [
            match.group(2)
            for match in re.finditer(rf"<({paragraph})(?:\s[^>]*[^>/])?>(.*?)</\1>", xml, re.DOTALL)
        ]
        if pieces:
            element = re.compile(rf"<{pieces}(?:\s[^>]*)?>(.*?)</{pieces}>", re.DOTALL)
            texts = ["".join(element.findall(each)) for each in texts]
        return "\n".join(map(_plain, texts))

    return text


def without_numbers(words: Words) -> Words:
    """Return a reader that leaves numbers out: files hold them as they are shown, and as they are."""
    return lambda path: re.sub(r"\w*\d\w*", "", words(path))


def pages(path: Path) -> str:
    """Return the text of all pages of a book but its table of contents, also of those that its order leaves out."""
    return _marked(_members(path, r"(?i)(?!.*(?:nav|toc|cover|title)).*\.x?html?"))


def xml_text(path: Path) -> str:
    """Return the text between the tags of an XML or HTML file."""
    return _marked(path.read_text("utf-8", "replace"))


def openpyxl_cells(path: Path) -> str:
    """Return the texts in the cells of a workbook."""
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    rows = (row for sheet in book.worksheets for row in sheet.iter_rows(values_only=True))
    return "\n".join(cell for row in rows for cell in row if isinstance(cell, str))


def xlrd_cells(path: Path) -> str:
    """Return the texts in the cells of a workbook of Excel 97."""
    import xlrd

    book = xlrd.open_workbook(str(path), logfile=StringIO())
    cells = (cell for sheet in book.sheets() for row in sheet.get_rows() for cell in row)
    return "\n".join(cell.value for cell in cells if cell.ctype == xlrd.XL_CELL_TEXT)


def xlsb_strings(path: Path) -> str:
    """Return the ASCII texts among the shared strings of a binary workbook."""
    with zipfile.ZipFile(path) as archive:
        data = archive.read("xl/sharedStrings.bin")
    return "\n".join(run.decode("utf-16-le") for run in re.findall(rb"(?:[\x20-\x7e]\0){3,}", data))


def rtf_text(path: Path) -> str:
    """Return the ASCII words of a file of RTF outside groups that hold no text."""
    source = path.read_bytes().decode("latin-1")
    unread = re.compile(rf"\{{\s*(?:\\\*|\\(?:{'|'.join(_RTF_UNREAD)}))[^{{}}]*\}}")
    group = re.compile(r"\{([^{}]*)\}")
    source = re.sub(r"\\[{}\\]|\\\r?\n", " ", source)
    changes = 1
    while changes:  # from the innermost groups outwards
        source = unread.sub(" ", source)
        source, changes = group.subn(r"\1", source)
    source = re.sub(r"\\'[0-9a-f]{2}|\\u-?\d+\??", "\x00", source)
    source = re.sub(r"\\(?:par|cell|row|tab|line|sect|page|column)\b ?", " ", source)
    text = re.sub(r"\\[a-z]+-?\d* ?|[\r\n{}]", "", source)
    return " ".join(re.findall(r"(?<![\w\0])[A-Za-z]{3,}(?![\w\0])", text))


def notebook_cells(path: Path) -> str:
    """Return the sources of all cells."""
    notebook = json.loads(path.read_text("utf-8"))
    sources = [cell.get("source", cell.get("input", "")) for cell in notebook.get("cells", [])]
    return "\n".join("".join(source) for source in sources)


def cues(path: Path) -> str:
    """Return the lines below those with times."""
    data = path.read_bytes()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = data.decode("windows-1252", "replace").splitlines()
    inside, text_lines = False, list[str]()
    for line in lines:
        inside = "-->" in line or (inside and bool(line.strip()))
        text_lines += [line] if inside and "-->" not in line else []
    return re.sub(r"<[^>]*>|\{[^}]*\}", "", "\n".join(text_lines))


def summaries(path: Path) -> str:
    """Return the titles of the events of a calendar."""
    text = re.sub(r"\r?\n[ \t]", "", path.read_bytes().decode("utf-8", "replace"))
    text = re.sub(r"(?s)BEGIN:VALARM.*?END:VALARM", "", text)
    return "\n".join(re.findall(r"(?m)^SUMMARY(?:;LANGUAGE=\w+)?:(.*?)\r?$", text)).replace("\\n", " ")


def mail_bodies(path: Path) -> str:
    """Return subjects and plain bodies in ASCII."""
    return _mail(message_from_bytes(path.read_bytes()))


def mailbox_bodies(path: Path) -> str:
    """Return subjects and plain bodies in ASCII of all mails."""
    mails = re.split(rb"(?m)^From (?=.*\d\d:\d\d)[^\n]*\n", path.read_bytes())[1:]
    return "\n".join(_mail(message_from_bytes(mail)) for mail in mails)


def outlook_body(path: Path) -> str:
    """Return the plain body of a mail of Outlook."""
    import olefile

    with olefile.OleFileIO(path) as file:
        for name, encoding in (("__substg1.0_1000001F", "utf-16-le"), ("__substg1.0_1000001E", "ascii")):
            if file.exists(name):
                text = str(file.openstream(name).read().decode(encoding, "replace"))
                return "" if "\ufffd" in text else text
    return ""


def bib_titles(path: Path) -> str:
    """Return titles that stand on one line, without those that hold commands."""
    titles = re.findall(
        r"(?mi)^\s*title\s*=\s*[{\"]+([^{}\"\n\\$]+)[}\"]", path.read_text("utf-8", "replace")
    )
    return "\n".join(titles)


def latex_lines(path: Path) -> str:
    """Return lines of the body without commands, formulas or remarks."""
    text = path.read_bytes().decode("utf-8", "replace")
    _, _, body = text.partition("\\begin{document}")
    body = re.sub(_CODE, "", (body or text).split("\\end{document}")[0])
    return "\n".join(line for line in body.splitlines() if not re.search(r"[\\{}$%&~^_#|\ufffd]", line))


def marked_lines(marks: str) -> Words:
    """Return a reader of the lines that hold none of these marks, inside no block of a drawer or remark."""

    def text(path: Path) -> str:
        lines = path.read_bytes().decode("utf-8", "replace").splitlines()
        return "\n".join(line for line in lines if not re.search(marks, line))

    return text


def pdf_text(path: Path) -> str:
    """Return what pdftotext of Poppler reads, words that end a line with a hyphen left out."""
    ran = subprocess.run(["pdftotext", "-q", str(path), "-"], capture_output=True, check=False, timeout=60)
    return re.sub(r"\S+[-\u2010\xad]\n\S+", "", ran.stdout.decode("utf-8", "replace"))


def _members(path: Path, pattern: str) -> str:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(pattern, name)]
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in names)


def _mail(message: Any) -> str:
    parts = [
        part for part in message.walk() if part.get_content_type() == "text/plain" and not part.get_filename()
    ]
    parts_of_text = [str(message.get("subject", ""))]
    parts_of_text += [(part.get_payload(decode=True) or b"").decode("ascii", "replace") for part in parts]
    return "\n".join(
        line
        for text in parts_of_text
        for line in text.splitlines()
        if "\ufffd" not in line and "=?" not in line
    )


def _marked(html: str) -> str:
    html = re.sub(r"(?s)<(script|style|head|title)\b.*?</\1>|<!--.*?-->|<[!?][^>]*>", " ", html)
    return unescape(re.sub(r"<[^>]*>", " ", html))


def _plain(xml: str) -> str:
    text = re.sub(r"<[^>]*>", "", re.sub(r"<text:(?:line-break|s|tab)(?:\s[^>]*)?/>", " ", xml))
    for name, sign in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("amp", "&")):
        text = text.replace(f"&{name};", sign)
    return text
