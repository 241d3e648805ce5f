"""Disagreements between sources are found where they are planted, and nowhere in real pages."""

from __future__ import annotations

from collections.abc import Iterator
from pydoc_data.topics import topics
from typing import NamedTuple

import pytest

from sleuth import Document, Engine
from sleuth.answer.agreement import disagree, read_claim, say_the_same
from sleuth.text.analyzers import get_analyzer

English = get_analyzer("english").words_of_each

PLANTED = """
How large may an upload be? / Uploads may be at most 10 MB large. / The upload limit is 50 MB.
What is the upload limit? / | limit | value |⏎|---|---|⏎| upload | 10 MB | / The upload limit is 50 MB.
Which port does the proxy listen on? / The proxy listens on port 80. / The proxy listens on port 8080.
Who leads the project? / Ann Lee leads the project. / Bo Kim leads the project.
How long are invoices kept? / Invoices are kept for 7 years. / Invoices are kept for ten years.
How often are backups made? / Backups are made every 6 hours. / **Backups** are made every 12 hours.
When was the company founded? / The company was founded in 1998. / The company was founded in 2001.
How many vacation days do employees have? / Employees have 25 vacation days. / Employees have 30 vacation days a year.
Where is the archive? / The archive is in Hamburg. / The archive is in Bremen.
What is the session timeout? / The session timeout is 30 minutes. / Session timeout: 15 min.
How many retries does the worker make? / The worker makes three retries. / The worker makes 5 retries.
Are passwords logged? / Passwords are logged by the gateway. / Passwords are not logged by the gateway.
Which branch is deployed? / The deployed branch is main. / The deployed branch is release.
What does a licence cost? / A licence costs $40 a month. / A licence costs $55 a month.
When does the support desk open? / The support desk opens at 8:00. / The support desk opens at 9:30.
How much memory does the indexer need? / The indexer needs 2 GB of memory. / The indexer needs 512 MB of memory.
Who approves travel requests? / Maria Lopez approves travel requests. / Travel requests are approved by Dan Brown.
When is the report due? / The report is due on March 3. / The report is due on March 10.
How many seats does a team plan have? / A team plan has 10 seats. / A team plan has 25 seats.
What is the discount for students? / The discount for students is 20 %. / Students get a discount of 15 %.
How often are the logs rotated? / The logs are rotated daily. / The logs are rotated weekly.
How long is a password? / The minimum password length is 8 characters. / Passwords have at least 12 characters.
Does the free plan include exports? / The free plan includes exports. / The free plan does not include exports.
Which database does billing use? / Billing uses PostgreSQL. / Billing uses MySQL.
How long does a deployment take? / A deployment takes 20 minutes. / A deployment takes about 1 hour.
How fast is the link to the lab? / The link to the lab has 10 Gbit. / The link to the lab has 40 Gbit.
Where are the keys stored? / The keys are stored in Vault. / The keys are stored in Keycloak.
How many shards does the index have? / The index has 16 shards. / The index has 8 shards.
On which floor is the lab? / The lab is on floor 3. / The lab is on floor 5.
What is the refund period? / The refund period is 14 days. / The refund period is 30 days.
"""
"""A question and two sentences on a line; "⏎" stands for the end of a line."""


class Planted(NamedTuple):
    """Two pages that disagree."""

    question: str
    one: str
    other: str


def planted() -> list[Planted]:
    return [Planted(*line.replace("⏎", "\n").split(" / ")) for line in PLANTED.strip().split("\n")]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Index the language reference that Python brings."""
    with Engine.open(tmp_path_factory.mktemp("pages") / "index", create=True) as engine:
        engine.add(Document(text, {"source": f"{name}.rst", "type": "rst"}) for name, text in topics.items())
        yield engine


def test_planted_disagreements_are_found(pages: Engine) -> None:
    """Of 30 disagreements among real pages, at least 24 are found."""
    rest = {
        "a": "The rest of this page is about cats.",
        "b": "Nobody has read further since the last winter.",
    }
    rows = planted()
    assert len(rows) == 30
    documents = [
        Document(f"{text}\n\n{rest[name]}", {"source": f"{name}{number}.md"})
        for number, row in enumerate(rows)
        for name, text in (("a", row.one), ("b", row.other))
    ]
    pages.add(documents)
    missing = [row for row in rows if not pages.search(row.question).extra["disagreement"]]
    pages.delete([document.metadata["source"] for document in documents])
    assert len(missing) <= 6, missing


def test_spellings_agree() -> None:
    """Markup, case, separators and the spelling of a unit make no other value."""
    for one, other in (
        ("Uploads may have 10 MB.", "**Uploads** may have 10 megabytes."),
        ("It waits 60 s.", "It waits one minute."),
        ("It holds 1,000 files.", "it holds 1000 files"),
    ):
        assert say_the_same(read_claim(one, English), read_claim(other, English))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tokens are refilled every 10 s.", "Tokens are refilled every 20 s."),
        ("Keys are shown in logs.", "Keys are not shown in logs."),
        ("The owner of the key is Alice.", "The owner of the key is Bob."),
    ],
)
def test_values_make_the_difference(one: str, other: str) -> None:
    """Sentences that differ in a number, a negation or a name do not say the same, and disagree."""
    first, second = read_claim(one, English), read_claim(other, English)
    assert not say_the_same(first, second)
    assert disagree(first, second, "Who or which?")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Passwords have at least 8 characters.", "Passwords have at most 64 characters."),
        ("If it is full, it waits 5 seconds.", "It waits 10 seconds."),
        ("Oxygen was named in 1777 by Lavoisier.", "Oxygen was sold in 1895 by Linde."),
        ("Paris is the capital of France.", "Berlin is the capital of Germany."),
        ("Limits of uploads", "Limits of downloads"),
        ("The default is 10.", "The default is 20."),
    ],
)
def test_other_things_do_not_disagree(one: str, other: str) -> None:
    """Bounds beside each other, other cases, subjects and properties are no disagreement; nor are bare defaults."""
    assert not disagree(read_claim(one, English), read_claim(other, English), "Which?")


def test_real_pages_do_not_disagree(pages: Engine) -> None:
    """Over the language reference, no question about a topic finds a disagreement."""
    questions = [f"{start} {name.replace('-', ' ')}?" for name in topics for start in ("What is", "How many")]
    assert len(questions) >= 100
    assert [question for question in questions if pages.search(question).extra.get("disagreement")] == []
