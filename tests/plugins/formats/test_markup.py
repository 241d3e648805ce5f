"""Markup of other tools is read as Markdown whose lines are those of the file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from sleuth.text.chunkers import Chunker
from tests.ingest.extraction.reading import only, reason

LATEX = r"""\documentclass{article} % not text
\title{On \emph{Rivers}}
\begin{document}
\section{Fl\"usse \label{s}}
Rivers~flow \textbf{down \emph{hill}}\cite{a}, 5\% of them. % remark
\begin{itemize}
\item fish
\end{itemize}
\begin{verbatim}
x = {1}  % kept
\end{verbatim}
Energy is $E = \frac{m}{2}$.
\end{document}
"""
ORG = """#+TITLE: Garden
* TODO Seeds :spring:
:PROPERTIES:
:ID: 77
:END:
Sow [[https://x.y][the beans]] in May.
#+BEGIN_SRC python
sow("beans")
#+END_SRC
| plant | month |
|-------+-------|
| bean  | May   |
"""
ASCIIDOC = """= Manual
:toc: left

== Setup
// internal
See link:x.html[the guide] and <<part,that part>>.

[source,sh]
----
make
----

* one
** two

|===
|Name |Use
|cup |tea
|===
"""
MAN = r""".\" a remark
.TH TOUCHY 1 2024 "tools"
.SH NAME
touchy \- change \fItimes\fR of a file
.SH OPTIONS
.TP
.BR \-a ", " \-\-all
Touch everything.
.nf
touchy a.txt
.fi
"""
VTT = """WEBVTT

NOTE not said

00:00:01.000 --> 00:00:03.000
<v Ann>Hello <i>there</i>.

01:02:03.500 --> 01:02:04.000
Bye.
"""
SRT = "1\n00:00:01,000 --> 00:00:02,000\nHello.\n\n2\n00:01:02,000 --> 00:01:03,000\nBye.\n"
ICS = r"""BEGIN:VCALENDAR
X-WR-CALNAME:Team
BEGIN:VEVENT
SUMMARY:Review\, part one
DTSTART;TZID=Europe/Berlin:20240501T090000
LOCATION:Room 7
ATTENDEE;CN="Ann Lee";ROLE=REQ:mailto:ann@x.org
DESCRIPTION:Bring the
  numbers.
BEGIN:VALARM
END:VALARM
END:VEVENT
END:VCALENDAR
"""
BIB = r"""@comment{no}
@article{lee2020, author = {Lee, Ann and M{\"u}ller, Bo}, title = "The {Big} River", year = 2020,
  abstract = {Water flows.}}
@book{kim, title={Seas}}
"""


def test_latex(tmp_path: Path) -> None:
    """Commands and remarks are left out, code and formulas stay, and lines keep their numbers."""
    content = only(tmp_path / "a.tex", LATEX)
    lines = content.page_content.split("\n")
    assert content.metadata["title"] == "On Rivers"
    assert lines[3] == "## Flüsse"
    assert lines[4].rstrip() == "Rivers flow down hill, 5% of them."
    assert lines[6] == "- fish"
    assert lines[8:11] == ["```", "x = {1}  % kept", "```"]
    assert lines[11] == r"Energy is $E = \frac{m}{2}$."
    assert len(lines) == len(LATEX.split("\n"))


def test_latex_about_latex(tmp_path: Path) -> None:
    """Code that begins after a command does not end the document, and the names of programs are words."""
    source = (
        "\\begin{document}\n{\\small\\begin{verbatim}\n\\end{document}\n\\end{verbatim}}\n"
        "Use \\LaTeX\\ and \\BibTeX{}, not\\ \\TeX.\n\\end{document}\n"
    )
    lines = only(tmp_path / "a.tex", source).page_content.split("\n")
    assert lines[1:5] == ["```", "\\end{document}", "```", "Use LaTeX and BibTeX, not TeX."]


def test_org(tmp_path: Path) -> None:
    """Headings lose their states and tags; drawers are left out; code and tables stay."""
    content = only(tmp_path / "a.org", ORG)
    assert content.metadata["title"] == "Garden"
    assert content.page_content.split("\n") == [
        "", "# Seeds", "", "", "", "Sow the beans in May.", "```python", 'sow("beans")', "```", "| plant | month |",
        "| --- |", "| bean  | May   |", "",
    ]  # fmt: skip


def test_asciidoc(tmp_path: Path) -> None:
    """Headings, lists, code and tables are Markdown; attributes and remarks are left out."""
    content = only(tmp_path / "a.adoc", ASCIIDOC)
    lines = content.page_content.split("\n")
    assert content.metadata["title"] == "Manual"
    assert lines[:6] == ["# Manual", "", "", "## Setup", "", "See the guide and that part."]
    assert lines[8:14] == ["```", "make", "```", "", "- one", "  - two"]
    assert lines[16:18] == ["| Name | Use |", "| cup | tea |"]
    assert {chunk.fields["heading"] for chunk in Chunker().split(content)} == {"Manual > Setup"}


@pytest.mark.parametrize("name", ["touchy.1", "touchy.man", "touchy"])
def test_manual_pages(tmp_path: Path, name: str) -> None:
    """A manual page is recognised by its first lines, and titled by its name and section."""
    content = only(tmp_path / name, MAN)
    assert (content.metadata["title"], content.metadata["type"]) == ("touchy(1)", "man")
    assert content.page_content.split("\n") == [
        "", "", "# NAME", "touchy - change times of a file", "# OPTIONS", "", "- -a, --all", "Touch everything.", "```",
        "touchy a.txt", "```", "",
    ]  # fmt: skip


def test_a_manual_page_that_defines_fonts_first(tmp_path: Path) -> None:
    """Requests may stand before the title, as programs write them."""
    requests = ".\\\" Made by a program\n.ie '\\n(.V'' \\{\\\n.ftr V CW\n.\\}\n.el \\{\\\n.ftr V CR\n.\\}\n"
    content = only(tmp_path / "touchy.1", requests + MAN)
    assert content.metadata["type"] == "man"
    assert "# NAME\ntouchy - change times of a file" in content.page_content


def test_definitions_of_macros_are_not_said(tmp_path: Path) -> None:
    """Macros may stand before the title; what they hold, sizes and places are left out, and lines keep their places."""
    page = (
        ".de Sp\n.if t .sp\n\\\\$1 is not said\n..\n.TH A 1\n.ig\nnot said\n..\n.SH NAME\n.it 1 x\n"
        "\\h'-04'a\\c\nThe value of the\n.SM\n.B PATH\nvariable"
    )
    content = only(tmp_path / "a.1", page)
    assert content.metadata["title"] == "a(1)"
    assert content.page_content.split("\n")[8:] == [
        "# NAME",
        "",
        "a",
        "The value of",
        "the",
        "PATH",
        "variable",
    ]


ROOMS = r"""'\" t
.TH ROOMS 7
.SH ROOMS
.TS
allbox tab(@);
l l.
Person@Room
_
T{
Ann
Lee
T}@T{
12
T}
B\['e]la@7
.TE
.PP
Knock first.
"""


def test_a_quoted_argument_of_a_manual_page_keeps_apostrophes_and_backslashes(tmp_path: Path) -> None:
    text = '.TH A 1\n.B "don\'t stop" \\e+\n.BI "-n a""b c" \\fId\n.B "no end\n'
    assert only(tmp_path / "a.1", text).page_content.split("\n")[1:4] == [
        "don't stop \\+",
        "-n ab cd",
        "no end",
    ]


def test_tables_of_manual_pages(tmp_path: Path) -> None:
    """A row stands at the line where it ends and names its columns; without a rule below it, the first row is one."""
    lines = only(tmp_path / "rooms.7", ROOMS).page_content.split("\n")
    assert lines[6] == "| Person | Room |"
    assert lines[13:15] == ["| Person: Ann Lee | Room: 12 |", "| Person: Béla | Room: 7 |"]
    assert lines[17] == "Knock first."
    plain = only(tmp_path / "plain.7", ".TH A 7\n.TS\nl l.\na\tb\nc\td\n.TE\n").page_content
    assert plain.split("\n")[3:5] == ["| a | b |", "| c | d |"]


def test_a_page_of_mdoc(tmp_path: Path) -> None:
    """A page in mdoc gives its sections, options and references."""
    page = ".Dd May 1\n.Dt GREPPY 1\n.Os\n.Sh SYNOPSIS\n.Nm greppy\n.Fl v\n.Sh SEE ALSO\n.Xr sed 1 ,\n"
    content = only(tmp_path / "greppy.1", page)
    assert content.metadata["title"] == "greppy(1)"
    assert content.page_content.split() == ["#", "SYNOPSIS", "greppy", "-v", "#", "SEE", "ALSO", "sed(1),"]
    options = ".Dt A 1\n.It Fl n Ar N Ns Ar M\n.It Cm Host Op Ar x .\n.Pq Pa ~/.a ,\n.Ql #\n"
    assert only(tmp_path / "a.1", options).page_content.split("\n")[1:] == [
        "- -n NM", "- Host [x].", "(~/.a),", "‘#’", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "times"), [("a.vtt", "0:1:5.2 --> 0:1:7"), ("a.srt", "00:01:05 --> 00:01:07")]
)
def test_times_of_subtitles(tmp_path: Path, name: str, times: str) -> None:
    """Times without leading zeros or parts of seconds begin a cue, too."""
    text = only(tmp_path / name, f"WEBVTT\n\n1\n{times}\nHello.\n").page_content
    assert text.split() == ["[00:01:05]", "Hello."]


def test_parts_of_calendars(tmp_path: Path) -> None:
    """An alarm adds nothing to its event; times of availability are entries."""
    alarm = "BEGIN:VALARM\nSUMMARY:Reminder\nEND:VALARM"
    event = f"BEGIN:VEVENT\nSUMMARY:Board\n{alarm}\nLOCATION:Pier\nEND:VEVENT"
    free = "BEGIN:VAVAILABILITY\nBEGIN:AVAILABLE\nSUMMARY:Mondays\nEND:AVAILABLE\nEND:VAVAILABILITY"
    content = only(tmp_path / "a.ics", f"BEGIN:VCALENDAR\n{event}\n{free}\nEND:VCALENDAR\n").page_content
    assert content == "# Board\n\nWhere: Pier\n\n# Mondays\n"


def test_subtitles(tmp_path: Path) -> None:
    """Speech follows its time, without tags, numbers and notes, at its line."""
    text = only(tmp_path / "a.vtt", VTT).page_content.split("\n")
    assert text[4:9] == ["[00:00:01]", "Ann: Hello there.", "", "[01:02:03]", "Bye."]
    assert not any("NOTE" in line for line in text)
    assert only(tmp_path / "a.srt", SRT).page_content.split() == [
        "[00:00:01]", "Hello.", "[00:01:02]", "Bye.",
    ]  # fmt: skip
    assert reason(tmp_path / "b.srt", "1\n00:00:01,000 --> 00:00:02,000\n\n") == "empty"


def test_a_calendar(tmp_path: Path) -> None:
    """An event is a section with its time, place and people; folded lines are joined."""
    content = only(tmp_path / "a.ics", ICS)
    assert content.metadata["title"] == "Team"
    assert content.page_content == (
        "# Review, part one\n\nStart: 2024-05-01 09:00\nWhere: Room 7\nWith: Ann Lee\n\nBring the numbers."
    )


def test_bibtex(tmp_path: Path) -> None:
    """An entry is a section with its fields; braces and remarks are left out."""
    content = only(tmp_path / "a.bib", BIB)
    assert content.page_content == (
        "# The Big River\n\narticle: lee2020\nauthor: Lee, Ann and Müller, Bo\nyear: 2020\n\nWater flows.\n\n"
        "# Seas\n\nbook: kim"
    )


def test_bibtex_without_keys(tmp_path: Path) -> None:
    """Entries that programs write without a key are read."""
    content = only(tmp_path / "a.bib", "@article{,\n title = {Tides}, year = 1990}\n@misc{,\n year = 2001}\n")
    assert content.page_content == "# Tides\n\narticle\nyear: 1990\n\n# misc\n\nmisc\nyear: 2001"


def test_a_notebook(tmp_path: Path) -> None:
    """Texts, code with its language and printed outputs of a notebook of nbformat are read; pictures are not."""
    nb: Any = nbformat.v4
    write: Callable[..., str] = nbformat.writes
    code = nb.new_code_cell("plot(x)", outputs=[
        nb.new_output("stream", text="done\n"),
        nb.new_output("display_data", data={"image/png": "iVBOR" * 100, "text/plain": "<Figure>"}),
        nb.new_output("error", ename="ValueError", evalue="too big", traceback=["\x1b[31mlong"]),
    ])  # fmt: skip
    notebook = nb.new_notebook(
        cells=[nb.new_markdown_cell("# Fish\n\nWe count."), code, nb.new_raw_cell("raw")]
    )
    content = only(tmp_path / "a.ipynb", write(notebook))
    assert content.page_content == (
        "# Fish\n\nWe count.\n\n```python\nplot(x)\n```\n\nOutput:\n\n```\ndone\n```\n\nOutput:\n\n"
        "```\n<Figure>\n```\n\nOutput:\n\n```\nValueError: too big\n```\n\nraw"
    )
    assert (content.metadata["title"], content.metadata["cells"]) == ("Fish", 3)
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1\n", "b = 2"], "outputs": []}]}]}
    assert only(tmp_path / "b.ipynb", json.dumps(old)).page_content == "```python\na = 1\nb = 2\n```"
    for broken in (
        "{}",
        "[1]",
        '{"cells": 7}',
        '{"cells": [7]}',
        '{"cells": [{"source": [1]}]}',
        "[" * 5_000,
    ):
        assert reason(tmp_path / "c.ipynb", broken)


def test_rtf(tmp_path: Path) -> None:
    """RTF becomes text; its title is the document's."""
    source = r"{\rtf1\ansi{\info{\title The \'dcbung}}\b Warm up\b0\par Stretch both arms.\par}"
    content = only(tmp_path / "a.rtf", source)
    assert content.page_content == "Warm up\nStretch both arms."
    assert content.metadata["title"] == "The Übung"
    assert reason(tmp_path / "b.rtf", "words").startswith("not readable as RTF")


RTF_ROW = r"\trowd\cellx1\cellx2{{\pard\intbl %s\par}\cell}{{\pard\intbl %s\par}\cell}\row "


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (f"{{{RTF_ROW % ('Person', 'Room')}{RTF_ROW % ('Ann', '12')}}}", "| Person | Room |\n|---|---|\n| Ann | 12 |"),
        (r"A lock{\super\chftn}{\footnote\pard\plain  built in 1840} leaks.\par", "A lock built in 1840 leaks."),
        (r"{Too {\mmath{\i x}{\mmathPict{\*\shppict{\pict\emfblip 0100}}}} harms.}\par", "Too  harms."),
    ],
    ids=["cells with paragraphs", "a footnote where it is referred to", "the picture of a formula"],
)  # fmt: skip
def test_parts_of_rtf(tmp_path: Path, source: str, text: str) -> None:
    """Tables, notes and what follows a formula are read where they stand."""
    assert only(tmp_path / "a.rtf", rf"{{\rtf1\ansi {source}}}").page_content.strip() == text
