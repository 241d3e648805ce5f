"""What is quoted: the part that answers, whole, with what belongs to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sleuth import Document, Engine
from sleuth.answer.extract import score_sentences
from sleuth.answer.quotes import choose
from sleuth.results import Grade
from tests.answer.conftest import item

TERMS = """<h1>Files of a package</h1>
<p>A package holds files of several kinds.</p>
<dl><dt>conffile</dt><dd>A file that the administrator may change, and that an update keeps.</dd>
<dt>md5sums</dt><dd>The checksums of all other files.</dd></dl>"""
TIME = """# The clock

The following reconfigures the timezone.

```
dpkg-reconfigure tzdata
```

The clock of the machine runs in UTC."""
LOG = """.TH TREE-LOG 1
.SH OPTIONS
.TP
\\fB\\-\\-merges\\fR
Print only commits that are merges.
.TP
\\fB\\-\\-no\\-merges\\fR
Do not print commits that are merges.
"""
LIMITS = """| key | limit | reset |
|---|---|---|
| free | 50 requests | every hour |
| paid | 900 requests | every minute |"""


def quotes(question: str, *texts: str, k: int = 3) -> list[str]:
    """Return what is quoted from passages that are ranked in this order."""
    items = [item(f"page{number}.md#0", text, 1.0 - number / 9) for number, text in enumerate(texts)]
    return [quote.text for quote in choose(question, score_sentences(question, items), items, k)]


@pytest.mark.parametrize(
    ("name", "text", "question", "expected"),
    [
        (
            "files.html",
            TERMS,
            "What is a conffile?",
            "conffile: A file that the administrator may change, and that an update keeps.",
        ),
        (
            "clock.md",
            TIME,
            "How do I change the timezone?",
            "The following reconfigures the timezone. [1]\n  ```\n  dpkg-reconfigure tzdata\n  ```",
        ),
        (
            "tree-log.1",
            LOG,
            "Which option shows only merges?",
            "`--merges`: Print only commits that are merges.",
        ),
        (
            "limits.md",
            LIMITS,
            "How many requests may a paid key make?",
            "key: paid; limit: 900 requests; reset",
        ),
    ],
)
def test_a_file_answers_with_the_part_that_was_asked_for(
    tmp_path: Path, name: str, text: str, question: str, expected: str
) -> None:
    """A term brings its description, a command the sentence above it; an option is its entry, a table gives a row."""
    (tmp_path / name).write_text(text)
    with Engine.open(tmp_path / "index", create=True) as engine:
        engine.index([tmp_path / name])
        result = engine.search(question)
    first = result.response.partition("\n- ")[2]
    assert first.startswith(expected), result.response
    assert "no-merges" not in first


def test_a_question_in_quotation_marks_ends_no_sentence() -> None:
    """A sentence goes on after `?")` if a small letter follows."""
    whole = 'The prompt ("Proceed with the update?") waits for ten seconds.'
    assert quotes("How long does the prompt wait?", f"{whole} Then it goes on.") == [
        f"{whole} Then it goes on."
    ]


@pytest.mark.parametrize(
    ("question", "silent", "answer"),
    [
        (
            "Who wrote the tree log?",
            "The tree log was written long ago.",
            "The tree log was written by Ann Lee.",
        ),
        (
            "When was the tree log written?",
            "The tree log was written by Ann Lee.",
            "The tree log was written in 1998.",
        ),
        ("How many lines has the tree log?", "The tree log has lines.", "The tree log has 40 lines."),
    ],
)
def test_a_near_miss_lacks_what_is_asked_for(tmp_path: Path, question: str, silent: str, answer: str) -> None:
    """A page that has all words but no name, time or number has no likely answer; one that has it does."""
    for text, grade in ((silent, Grade.MAY_HELP), (answer, Grade.LIKELY)):
        with Engine.open(tmp_path / grade.name, create=True) as engine:
            engine.add(
                [Document(text, {"source": "log.md"}), Document("Cats sleep all day.", {"source": "b.md"})]
            )
            assert engine.search(question).grade is grade


def test_the_first_sentence_of_a_page_says_what_a_thing_is() -> None:
    """Where a question asks what something is, it stands above a part that fits better; else it does not."""
    page = "Large pelicans near lakes eat fish.\n\n## Food\n\nThe pelicans eat frogs."
    opening, food = "Large pelicans near lakes eat fish.", "The pelicans eat frogs."
    assert quotes("What are pelicans?", page) == [opening, food]
    assert quotes("Where do pelicans eat?", page) == [food, opening]


def test_a_heading_that_asks_the_same_counts() -> None:
    """A part below a heading that is the question stands above a part that only holds its words."""
    page = (
        "## How do I delete a file?\n\nUse `os.remove`, which takes a path.\n\n## Memory\n\n"
        "Files that Python must delete at its end are listed there."
    )
    assert quotes("How do I delete files in Python?", page)[0] == "Use `os.remove`, which takes a path."


def test_rows_of_links_are_not_quoted() -> None:
    """A table of the pages before and after this one says nothing, in its first row or below it."""
    links = "| Prev | Up | Next |\n|---|---|---|\n| The keys | Home | The tides |\n\nTides are strong."
    assert quotes("What are the tides and the keys?", links) == ["Tides are strong."]


def test_a_named_function_is_a_likely_answer(tmp_path: Path) -> None:
    """A question that writes out a function with its module gets its definition; for others nothing is close."""
    from sleuth import index_path, open_code, open_sources

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "parcel.py").write_text('def wrap(box):\n    """Folds paper round a box."""\n')
    (tmp_path / "src" / "text.py").write_text('def wrap(text):\n    """Breaks long lines."""\n')
    with open_code(tmp_path / "index", create=True) as storage:
        index_path(storage, tmp_path / "src", workers=1)
    with open_sources(tmp_path / "index", ["code"]) as sources:
        named = sources.search("what does parcel.wrap do")
        assert named.grade is Grade.LIKELY
        assert named.response.splitlines()[1].startswith("- `def wrap(box)`: Folds paper round a box.")
        unknown = sources.search("which function sends a letter to the king of France")
        assert unknown.grade in (None, Grade.NOTHING_CLOSE)
