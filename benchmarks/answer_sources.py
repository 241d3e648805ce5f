"""Questions with gold answers over six kinds of sources, none of them a part of the project.

Questions about manual pages, manuals, FAQs and code are in `data/answer_questions.json`. They were written before
anybody looked at the texts; the texts do not answer the unanswerable ones. Those that judge were written after the
others had taken part in choices. Questions of XQuAD (encyclopedia), PubMedQA
(papers) and COVID-QA are asked twice: once as they are, and once without their own text, so that only near misses
remain. Those of WikiQA without an answer have their page, which is silent.
"""

from __future__ import annotations

import csv
import json
import random
import re
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.packages import unpacked
from sleuth import Document, Engine, index_path, open_code, open_sources
from sleuth.types import RetrievedItem

QUESTIONS: Final = Path(__file__).parent / "data" / "answer_questions.json"
ASKED: Final = 150
"""Questions of XQuAD, PubMedQA and COVID-QA, each as it is, and as many others without their text; twice."""
LANGUAGES: Final = ("de", "es", "ro", "ru", "tr")
"""Languages of XQuAD, beside English, whose questions are asked."""

# fmt: off
PAGES: Final = """
    bash cp mv rm ls du df free head tail tac sort uniq wc cut paste tr join comm split csplit cat tee find xargs
    locate grep sed gawk tar gzip bzip2 xz zip unzip curl wget rsync ssh sshd ssh-keygen ssh-agent ssh-add ssh_config
    sshd_config scp sftp chmod chown chgrp mkdir rmdir touch stat file ln readlink timeout env nice nohup kill ps top
    date sleep seq diff diff3 cmp patch dpkg dpkg-query dpkg-deb apt apt-get apt-cache apt.conf sources.list passwd
    shadow group useradd usermod userdel groupadd su sudo mount umount fstab lsblk fdisk dmesg logger flock hostname
    hosts crontab make cmake gcc ld ar nm objdump strip perl openssl gpg less more man column fold fmt expand od base64
    sha256sum dd truncate shuf factor numfmt uptime who id test expr printf echo signal socket tcp ip udp hier regex
    utf-8 locale busctl watch vmstat""".split()  # noqa: SIM905 - a list would take 150 lines
MODULES: Final = """
    shutil textwrap heapq queue fnmatch tarfile bisect html/__init__ collections/__init__ contextlib secrets datetime
    statistics pathlib http/client http/server calendar random zipfile json/__init__ json/decoder json/encoder
    functools tempfile subprocess logging/__init__ csv argparse configparser threading socketserver smtplib
    urllib/request urllib/parse email/message glob gzip uuid pprint string copy difflib enum dataclasses ast inspect
    pickle typing weakref ipaddress hashlib hmac getpass cmd shelve sched timeit trace""".split()  # noqa: SIM905
# fmt: on


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        source: kind of the source that it is asked of.
        text: the question.
        answers: texts of which a right quote holds at least one, or long texts of which it is a sentence; none if the
            source does not answer it.
        without: a document that is taken away, "" for none.
        is_judged: whether it judges a choice; else it takes part in it.
    """

    source: str
    text: str
    answers: tuple[str, ...]
    without: str = ""
    is_judged: bool = False

    def is_in(self, quotes: Iterable[str]) -> bool:
        """Return whether one of these quotes answers."""
        return any(_answers(answer, quote) for quote in quotes for answer in self.answers)


def _answers(answer: str, quote: str) -> bool:
    if len(answer) < 150:
        return plain(answer) in plain(quote)
    sentences = re.split(r"(?<=[.!?])\s+", quote)
    return any(len(sentence) > 25 and plain(sentence) in plain(answer) for sentence in sentences)


def plain(text: str) -> str:
    """Return a text without markup and case, in one line."""
    return " ".join(re.sub(r"[`*\u200b]", "", text).split()).casefold()


class Asking:
    """An index with questions: searches one kind of source.

    Attributes:
        name: of the kind.
        questions: for choices and for judging.
        engine: an `Engine`, or `Sources` for code.
    """

    def __init__(self, name: str, questions: list[Question], engine: Any, rerank: str | None = None) -> None:
        self.name, self.questions, self.engine, self.rerank = name, questions, engine, rerank

    def options(self, question: Question) -> dict[str, Any]:
        """Return the filter that takes a text away, and the reranker."""
        options: dict[str, Any] = {"filter": {"doc": {"$ne": question.without}}} if question.without else {}
        return options if self.rerank is None else {**options, "rerank": self.rerank}

    def items(self, question: Question, k: int = 10) -> list[RetrievedItem]:
        return list(self.engine.retrieve(question.text, k, **self.options(question)))


@contextmanager
def opened(
    name: str, paths: Mapping[str, Path], embedder: str | None = None, rerank: str | None = None
) -> Iterator[Asking]:
    """Index one kind of source in a folder of its own, and remove that at the end.

    Args:
        name: of `names`.
        paths: of collections, by their names.
        embedder: as of `Engine.open`.
        rerank: as of `Engine.retrieve`.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if name == "code":
            library = Path(sysconfig.get_path("stdlib"))
            for module in MODULES:
                copy = folder / "src" / f"{module.replace('/', '_')}.py"
                copy.parent.mkdir(exist_ok=True)
                copy.write_bytes((library / f"{module}.py").read_bytes())
            with open_code(folder / "index", create=True) as storage:
                index_path(storage, folder / "src", workers=1)
            sources = stack.enter_context(open_sources(folder / "index", ["code"]))
            yield Asking(name, own_questions(name), sources, rerank)
            return
        engine = stack.enter_context(Engine.open(folder / "index", create=True, embedder=embedder))
        if name in _FILES:
            engine.index(sorted(_FILES[name]()))
            yield Asking(name, own_questions(name), engine, rerank)
            return
        documents, questions = COLLECTIONS[name](paths[name])
        engine.add(documents)
        yield Asking(name, questions, engine, rerank)


def names(paths: Mapping[str, Path]) -> list[str]:
    """Return the kinds of sources that can be asked, those for near misses last."""
    own = [*(name for name in paths if name not in NEAR), *_FILES, "code"]
    return [*own, *(name for name in paths if name in NEAR)]


def own_questions(name: str) -> list[Question]:
    rows = json.loads(QUESTIONS.read_text("utf8"))[name]
    return [
        Question(name, row["question"], tuple(row["answers"]), is_judged=row.get("judged", False))
        for row in rows
    ]


def read_xquad(folder: Path, language: str = "en") -> tuple[list[Document], list[Question]]:
    """Read paragraphs and questions of github.com/google-deepmind/xquad."""
    documents, questions = list[Document](), list[Question]()
    for article in _articles(folder, language):
        for paragraph in article["paragraphs"]:
            id = f"{language}{len(documents)}"
            metadata = {"title": article.get("title", ""), "doc": id, "language": language}
            documents.append(Document(paragraph["context"], metadata, id=id))
            questions += [
                Question("encyclopedia", row["question"], tuple(a["text"] for a in row["answers"]), id)
                for row in paragraph["qas"]
            ]
    return documents, _twice(questions)


def xquad_rows(folder: Path, language: str) -> list[dict[str, Any]]:
    """Return the questions of XQuAD in a language, each with `id`, `question` and `answers`."""
    paragraphs = [each for article in _articles(folder, language) for each in article["paragraphs"]]
    return [row for paragraph in paragraphs for row in paragraph["qas"]]


def _articles(folder: Path, language: str) -> list[dict[str, Any]]:
    articles: list[dict[str, Any]] = json.loads((folder / f"xquad.{language}.json").read_text("utf8"))["data"]
    return articles


def read_pubmed(file: Path) -> tuple[list[Document], list[Question]]:
    """Read `ori_pqal.json` of github.com/pubmedqa/pubmedqa: results and conclusions of abstracts answer."""
    documents, questions = list[Document](), list[Question]()
    for id, row in json.loads(file.read_text("utf8")).items():
        documents.append(Document("\n\n".join([*row["CONTEXTS"], row["LONG_ANSWER"]]), {"doc": id}, id=id))
        labelled = zip(row["LABELS"], row["CONTEXTS"], strict=True)
        results = [text for label, text in labelled if re.search("RESULT|CONCLU|FINDING", label.upper())]
        answers = [text.ljust(150) for text in (row["LONG_ANSWER"], *results)]
        questions.append(Question("papers", row["QUESTION"], tuple(answers), id))
    return documents, _twice(questions)


def read_covid(file: Path) -> tuple[list[Document], list[Question]]:
    """Read `200423_covidQA.json` of github.com/deepset-ai/COVID-QA: long papers."""
    documents, questions = list[Document](), list[Question]()
    for article in json.loads(file.read_text("utf8"))["data"]:
        for paragraph in article["paragraphs"]:
            id = f"covid{len(documents)}"
            documents.append(Document(paragraph["context"], {"doc": id}, id=id))
            for row in paragraph["qas"]:
                answers = tuple(answer["text"].strip() for answer in row["answers"])
                questions.append(Question("COVID-QA", row["question"], answers, id))
    return documents, _twice(questions)


def read_wikiqa(file: Path) -> tuple[list[Document], list[Question]]:
    """Read `WikiQA-test.tsv`: the summaries of pages, whose sentences answer or not."""
    pages: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    answers: dict[str, list[str]] = {}
    with file.open(encoding="utf8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            pages.setdefault(row["DocumentID"], []).append(row["Sentence"])
            titles[row["DocumentID"]] = row["DocumentTitle"]
            right = answers.setdefault(row["Question"], [])
            right += [row["Sentence"].ljust(150)] if row["Label"] == "1" else []
    documents = [
        Document(" ".join(text), {"title": titles[id], "doc": id}, id=id) for id, text in pages.items()
    ]
    questions = [Question("WikiQA", text, tuple(right)) for text, right in answers.items()]
    real = [question for question in questions if question.answers]
    silent = [question for question in questions if not question.answers]
    chooser = random.Random(5)
    choice = {question.text for group in (real, silent) for question in chooser.sample(group, ASKED)}
    return documents, [replace(question, is_judged=question.text not in choice) for question in questions]


NEAR: Final = ("COVID-QA", "WikiQA")
"""Collections that are measured apart, for their near misses."""
COLLECTIONS: Final[Mapping[str, Callable[[Path], tuple[list[Document], list[Question]]]]] = {
    "encyclopedia": read_xquad,
    "papers": read_pubmed,
    "COVID-QA": read_covid,
    "WikiQA": read_wikiqa,
}


def _twice(questions: list[Question]) -> list[Question]:
    """Return a sample of questions as they are, another one without its texts, and questions of other sources.

    The same again, save those of other sources, judges: with questions that are not in the first samples.
    """
    rows = random.Random(5).sample(questions, 2 * ASKED)
    foreign = [*own_questions("man pages"), *own_questions("FAQs")][:40]
    texts = {row.text for row in rows}
    fresh = [question for question in questions if question.text not in texts]
    judging = random.Random(11).sample(fresh, 2 * ASKED)
    return [
        *_with_and_without(rows),
        *(Question(rows[0].source, row.text, ()) for row in foreign),
        *(replace(question, is_judged=True) for question in _with_and_without(judging)),
    ]


def _with_and_without(rows: list[Question]) -> Iterator[Question]:
    """Yield the first half of the questions as they are, the second half without their texts."""
    yield from (Question(row.source, row.text, row.answers) for row in rows[:ASKED])
    yield from (Question(row.source, row.text, (), row.without) for row in rows[ASKED:])


def _man_pages() -> Iterator[Path]:
    root = Path("/usr/share/man")
    for name in [*PAGES, "git*"]:
        yield from (path for section in "1578" for path in root.glob(f"man{section}/{name}.{section}*"))


def _manuals() -> Iterator[Path]:
    yield from unpacked("deb:debian-handbook").rglob("html/en-US/*.html")
    yield from unpacked("deb:python3.11-doc").rglob("_sources/library/*.txt")


def _faqs() -> Iterator[Path]:
    pages = unpacked("deb:debian-faq").rglob("*.html")
    yield from (page for page in pages if not page.is_symlink() and page.stem != "index")
    yield from unpacked("deb:python3.11-doc").rglob("_sources/faq/*.txt")


_FILES: Final = {"man pages": _man_pages, "manuals": _manuals, "FAQs": _faqs}
