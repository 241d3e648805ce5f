"""Parts of a passage that can stand alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer.parts import answer_parts, code_part, without_markup

GUIDE = """# Install

To install, run this command:

```console
$ pip install sleuth
```

| command | what it does |
|---|---|
| `sleuth index` | reads **files** |
| `sleuth ask` | an [answer](docs/answers.md) that cites |

<a name="limits"></a>
Limits are:

- 10 MB a file
- 50 files a *day*

[link]: https://example.org
"""


def texts(passage: str) -> list[str]:
    return [part.text for part in answer_parts(passage)]


def test_a_colon_takes_what_follows_along() -> None:
    """A sentence that ends with a colon includes the code or list below it; code is unchanged."""
    assert texts(GUIDE)[0] == "To install, run this command:\n```console\n$ pip install sleuth\n```"
    assert "Limits are:\n- 10 MB a file\n- 50 files a day" in texts(GUIDE)


def test_rows_name_their_columns() -> None:
    """A row of a table is quoted with the name of each column."""
    assert "command: `sleuth index`; what it does: reads files" in texts(GUIDE)
    assert [part.kind for part in answer_parts(GUIDE)].count("table") == 2


@pytest.mark.parametrize(
    "line",
    [
        "# A heading",
        "Title\n=====",
        '<a name="x"></a>',
        "[1]: http://x.org",
        "![logo](logo.png)",
        ".. image:: x",
    ],
)
def test_headings_and_links_are_not_parts(line: str) -> None:
    """Headings, anchors, link definitions and images are not parts."""
    assert texts(f"{line}\n\nIce melts.") == ["Ice melts."]


@pytest.mark.parametrize("question", ["How do you register it?", "Wie geht das?", "これは何ですか？"])
def test_questions_are_headings(question: str) -> None:
    """A question is no answer; its words stand above what follows it."""
    first, second, third = answer_parts(f"Before it. {question} Call it.\n\nThen go on.")
    assert [part.text for part in (first, second, third)] == ["Before it.", "Call it.", "Then go on."]
    assert (first.heading, second.heading, third.heading) == ("", question, question)
    assert answer_parts(question) == []


def test_a_line_that_begins_with_a_role_is_text() -> None:
    """A line of reStructuredText may begin with a role; a field list is left out."""
    assert texts("Use the\n:func:`os.path.join` function.") == ["Use the `os.path.join` function."]
    assert texts(":orphan: yes\n\nIce melts.") == ["Ice melts."]


def test_cut_sentences_are_left_out() -> None:
    """A passage that begins within a sentence gives its complete sentences, if it has any."""
    assert texts("and so on. Ice melts.") == ["Ice melts."]
    assert texts("and so on.") == ["and so on."]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("**Bold** and _soft_ and `a_b*c`.", "Bold and soft and `a_b*c`."),
        ("See [the guide](x.md#a) now.", "See the guide now."),
        ("**Values are\nevaluated once.** Then", "Values are evaluated once. Then"),
        ("Use :func:`os.path.join` here.", "Use `os.path.join` here."),
        ("A snake_case_name stays, 2 * 3 * 4 too.", "A snake_case_name stays, 2 * 3 * 4 too."),
        ("- An item", "An item"),
        ("In [10, 20] ms of bucket[2].", "In [10, 20] ms of bucket[2]."),
        ("<b>Bold</b> words", "Bold words"),
        ('Define "__bool__()" or __len__ on <lambda>.', 'Define "__bool__()" or __len__ on <lambda>.'),
    ],
)
def test_markup_is_stripped(markup: str, expected: str) -> None:
    """Markup of Markdown, reStructuredText and HTML is removed from sentences; code and brackets stay."""
    assert without_markup(markup) == expected


@given(st.text("ab .:\n-*|`#=>12", max_size=80))
def test_places_are_true_and_in_order(passage: str) -> None:
    """For any passage, every part lies in the passage, and the parts are in order."""
    parts = answer_parts(passage)
    assert all(0 <= part.start < part.end <= len(passage) for part in parts)
    assert [part.start for part in parts] == sorted(part.start for part in parts)


@pytest.mark.parametrize(
    ("text", "signature", "expected"),
    [
        (
            'def wait(self, timeout=None):\n    """Wait for the barrier. Then go on."""\n    pass',
            "def wait(self, timeout=None):",
            "`def wait(self, timeout=None)`: Wait for the barrier.",
        ),
        (
            "// Parse reads one line.\n// It is quick.\nfunc Parse(s string) int {",
            "func Parse(s string) int {",
            "`func Parse(s string) int`: Parse reads one line.",
        ),
        (
            "/**\n * Adds two numbers.\n */\nint add(int a)",
            "int add(int a)",
            "`int add(int a)`: Adds two numbers.",
        ),
        ("def bare():\n    return 1", "def bare():", "`def bare()`"),
        (
            '"""Reads. Cut off',
            "def read(\n    self,\n    path: str,\n) -> str: # noqa",
            "`def read(self, path: str) -> str`: Reads.",
        ),
        ("# Stop here.\nreturn 1", "def bare():", "`def bare()`"),
        ('Cut off.\n"""\n# Stop here.\nreturn 1', "def bare():", "`def bare()`"),
        ('"""Reads files."""\n\nimport os', "", "Reads files."),
        ("import os\nimport sys", "", ""),
    ],
)
def test_code_answers_by_its_signature(text: str, signature: str, expected: str) -> None:
    """A definition is quoted as its signature and the first sentence of its documentation."""
    assert code_part(text, signature).text == expected


MANUAL = """You can see it with the
:option:`--durations` option:

.. code-block:: bash
   :linenos:

    pytest --durations=10

.. option:: --lf, --last-failed

    Rerun only the tests that failed.
    All tests run if none did.

    Like this:

    .. code-block:: bash

        pytest --lf

.. note::

    It was written for `nose <https://nose.example.org>`__ first.

.. toctree::

    first/page

To undo it, run

    git rebase --abort
"""


def test_directives_of_restructuredtext() -> None:
    """Code below a directive belongs to its sentence, an option names what its text describes, and a note is prose."""
    assert texts(MANUAL) == [
        "You can see it with the `--durations` option:\n    pytest --durations=10",
        "`--lf, --last-failed`: Rerun only the tests that failed.",
        "All tests run if none did.",
        "Like this:\n        pytest --lf",
        "It was written for nose first.",
        "    first/page",
        "To undo it, run\n    git rebase --abort",
    ]


def test_a_cut_sentence_that_announces_code_is_left_out() -> None:
    """A sentence whose beginning is in another passage is no part, also with the code below it; a list item is one."""
    assert texts("specific way than this:\n\n    raises=Error\n\nIce melts.") == ["Ice melts."]
    assert texts("- colours:\n  - red\n\nIce melts.")[0] == "colours:\n- red"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("See `the guide`_ and `a page <x.html>`_.", "See the guide and a page."),
        ("Write `a` or `_b` or ``c_`` there.", "Write `a` or `_b` or `c_` there."),
    ],
)
def test_links_of_restructuredtext(markup: str, expected: str) -> None:
    """A link shows its text; names in ticks that begin or end with an underscore are code."""
    assert without_markup(markup) == expected


def test_code_below_two_colons() -> None:
    """A literal block of reStructuredText may be indented by fewer than four characters, and have blank lines."""
    assert texts("As in::\n\n  for name in names:\n      a()\n\n      b()\n\nClose them.") == [
        "As in::\n  for name in names:\n      a()\n\n      b()",
        "Close them.",
    ]


def test_definition_lists_of_markdown() -> None:
    """A line that begins with a colon describes the term above it; other lists do not describe a line of text."""
    options = "`--merges`\n: Print only merge commits.\n\n`--no-merges`\n: Do not print them.\n"
    assert texts(options) == ["`--merges`: Print only merge commits.", "`--no-merges`: Do not print them."]
    assert texts("Apple\n: A fruit. It is red.\n") == ["Apple: A fruit.", "It is red."]
    assert "Apple: A fruit." not in texts("Apple\n- A fruit.\n")


def test_a_term_right_above_its_description() -> None:
    """An item in front of a line that is not indented is a term, if it is short; a longer one goes on in that line."""
    assert texts("- -n, --lines=N\nprint N lines\n\n- ~/.keys\nHolds the keys.") == [
        "`-n, --lines=N`: print N lines",
        "`~/.keys`: Holds the keys.",
    ]
    long = "- a first item that says so much that it goes on in the next line,\nwhich is here."
    assert texts(long)[0].startswith("a first item")
