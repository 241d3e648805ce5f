"""Questions and texts that answer them or not, from public collections, to train a reader.

    python -m benchmarks.studies.reader_pairs FILE [--wikiqa FILE ...] [--selqa FILE ...] [--squad FILE ...]
        [--nqg FOLDER] [--qed FILE] [--medquad FOLDER] [--tldr FOLDER]

Writes one pair a line as JSON: `question`, `text`, `label` (1 if the text answers), `source`. A text is a quote below
the title and the headings of its page. Texts that do not answer are near misses: other sentences of the same page, and
questions of which a word was replaced. No page that `benchmarks.answers` asks is read: the manual pages that it uses
are left out, and XQuAD's paragraphs are not in these files.

--wikiqa: `WikiQASent-train.txt` of WikiQA (Yang et al., 2015), as in github.com/tjurczyk/WikiQA; Microsoft Research
Data License. --selqa: `selqa-ass-*.json` of github.com/emorynlp/selqa; Apache 2.0. --squad: files in the format of
SQuAD 2.0 (CC BY-SA 4.0), as those of github.com/wasiahmad/PolicyQA (MIT). --nqg: `data/processed` of
github.com/xinyadu/nqg, of which `src-test.txt` and `tgt-test.txt` are from SQuAD's training set (CC BY-SA 4.0).
--qed: `qed-dev.jsonlines` of github.com/google-research-datasets/QED; CC BY-SA 3.0. --medquad: the folder of
github.com/abachaa/MedQuAD; CC BY 4.0. --tldr: the folder of github.com/tldr-pages/tldr (CC BY 4.0), read with the
manual pages of this machine.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree

from benchmarks.answer_sources import PAGES
from sleuth import Document
from sleuth.answer import split_sentences
from sleuth.answer.parts import answer_parts
from sleuth.ingest import read

# fmt: off
_STOP: Final = """
    a an and are as at be been by can did do does for from had has have how i in is it its many much of on or than that
    the their there this to was were what when where which who whom whose why will with you your"""
# fmt: on
STOP: Final = frozenset(_STOP.split())
"""Words that a near miss need not share with a question."""
NEAR_MISSES: Final = 4
"""Texts that do not answer, for one that does, where a page has many."""
REPLACED: Final = 0.25
"""Share of the answered questions that are asked again with another word, which the text does not answer."""
ASKED_ABOVE: Final = 0.25
"""Share of the questions that also stand as a heading above their texts, as in lists of questions and answers."""
THINNED: Final = 0.4
"""Share of the questions of PolicyQA and MedQuAD that are read: many are worded alike."""
_OPTION: Final = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_WORD: Final = re.compile(r"[A-Za-z0-9][\w'-]*")


class Pair(NamedTuple):
    question: str
    text: str
    label: int
    source: str


def words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - STOP


def near_misses(question: str, texts: Sequence[str], count: int, rng: random.Random) -> list[str]:
    """Return texts, half of them those that share the most words with a question, the others by chance."""
    terms = words(question)
    by_overlap = sorted(dict.fromkeys(texts), key=lambda text: -len(terms & words(text)))
    nearest, others = by_overlap[: count // 2], by_overlap[count // 2 :]
    return nearest + rng.sample(others, min(count - len(nearest), len(others)))


def with_title(text: str, *headings: str) -> str:
    """Return a quote as a reader sees it, below the title and headings of its page."""
    head = " ".join(heading for heading in headings if heading)
    return f"{head}: {text}" if head else text


def windows(sentences: Sequence[str], right: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Yield pieces of two or three sentences with 1 for those that hold a right one, else 0."""
    right = set(right)
    start = 0
    while start < len(sentences):
        end = min(len(sentences), start + 2 + start % 2)
        yield " ".join(sentences[start:end]), int(not right.isdisjoint(range(start, end)))
        start = end


def wikiqa(path: Path, rng: random.Random) -> Iterator[Pair]:
    rows = (line.rstrip("\n").split("\t") for line in path.open(encoding="utf8"))
    for question, group in groupby(rows, key=lambda row: row[0]):
        sentences = [(row[1], int(row[2])) for row in group]
        yield from (Pair(question, sentence, label, "wikiqa") for sentence, label in sentences)
        right = [place for place, (_, label) in enumerate(sentences) if label]
        for text, label in windows([sentence for sentence, _ in sentences], right):
            yield Pair(question, text, label, "wikiqa")


def selqa(path: Path, rng: random.Random) -> Iterator[Pair]:
    for row in json.loads(path.read_text("utf8")):
        head = [row["article"], row["section"]] if rng.random() < 0.7 else []
        sentences, right = row["candidates"], set(row["answers"])
        wrong = [sentence for place, sentence in enumerate(sentences) if place not in right]
        near = set(near_misses(row["question"], wrong, 2 * NEAR_MISSES, rng))
        for place, sentence in enumerate(sentences):
            if place in right or sentence in near:
                yield Pair(row["question"], with_title(sentence, *head), int(place in right), "selqa")
        for text, label in list(windows(sentences, right))[:6]:
            yield Pair(row["question"], with_title(text, *head), label, "selqa")


def squad(path: Path, rng: random.Random) -> Iterator[Pair]:
    for article in json.loads(path.read_text("utf8"))["data"]:
        contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
        for paragraph in article["paragraphs"]:
            context = paragraph["context"]
            spans = split_sentences(context)
            for row in paragraph["qas"]:
                if rng.random() > THINNED:
                    continue
                starts = [answer["answer_start"] for answer in row["answers"]]
                labels = [int(any(start <= at < end for at in starts)) for start, end in spans]
                sentences = [with_title(context[start:end], article["title"]) for start, end in spans]
                wrong = [text for text, label in zip(sentences, labels, strict=True) if not label]
                right = [text for text, label in zip(sentences, labels, strict=True) if label]
                others = [with_title(other[:600], article["title"]) for other in contexts if other != context]
                yield from (Pair(row["question"], text, 1, "squad") for text in right[:1])
                if len(context) < 800:
                    whole = with_title(context, article["title"])
                    yield Pair(row["question"], whole, int(bool(starts)), "squad")
                for texts in (wrong, others[:60]):
                    for text in near_misses(row["question"], texts, 2, rng):
                        yield Pair(row["question"], text, 0, "squad")


def nqg(folder: Path, rng: random.Random) -> Iterator[Pair]:
    """Sentences of which a question was asked, in the order of their articles: neighbours are near misses."""
    sentences, questions = (
        [_untokenized(line) for line in (folder / name).read_text("utf8").splitlines()]
        for name in ("src-test.txt", "tgt-test.txt")
    )
    for place, question in enumerate(questions):
        own = sentences[place]
        around = [
            text for text in sentences[max(0, place - 25) : place + 26] if text not in own and own not in text
        ]
        yield Pair(question, own, 1, "nqg")
        yield from (
            Pair(question, text, 0, "nqg") for text in near_misses(question, around, NEAR_MISSES, rng)
        )


def qed(path: Path, rng: random.Random) -> Iterator[Pair]:
    for line in path.open(encoding="utf8"):
        row = json.loads(line)
        question, title = row["question_text"], row["title_text"]
        text, starts = row["paragraph_text"], row["sentence_starts"]
        at = {span["start"] for answer in row["original_nq_answers"] for span in answer}
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            label = int(any(start <= place < end for place in at))
            yield Pair(question, with_title(text[start:end].strip(), title), label, "qed")
        yield Pair(question, with_title(text[:700], title), int(any(place < 700 for place in at)), "qed")


def medquad(folder: Path, rng: random.Random) -> Iterator[Pair]:
    """Answers about one disease or drug: those to other questions about it do not answer."""
    for path in sorted(folder.rglob("*.xml")):
        root = ElementTree.parse(path).getroot()  # noqa: S314 - a collection that the user chose
        title = root.findtext("Focus") or ""
        texts = [(pair.findtext("Question"), pair.findtext("Answer")) for pair in root.iter("QAPair")]
        rows = [(question, " ".join(answer.split())) for question, answer in texts if question and answer]
        pieces = [[answer[start:end] for start, end in split_sentences(answer)] for _, answer in rows]
        heads = [[title, rows[place][0]] if rng.random() < 0.5 else [title] for place in range(len(rows))]
        for place, (question, _) in enumerate(rows[:2]):
            if rng.random() > THINNED:
                continue
            others = [
                with_title(" ".join(sentences[start : start + 2]), *heads[other])
                for other, sentences in enumerate(pieces)
                for start in (0, 2)
                if other != place and sentences[start:]
            ]
            answer = " ".join(pieces[place][: rng.choice((1, 2, 3))])
            yield Pair(question, with_title(answer, *heads[place]), 1, "medquad")
            yield from (Pair(question, text, 0, "medquad") for text in near_misses(question, others, 2, rng))


ASKING: Final = (
    "which option of {program} {does}",
    "which {program} option {does}",
    "how do I {do} with {program}",
    "how to {do} in {program}",
    "how can {program} {do}",
    "{program} {do}",
    "what option makes {program} {do}",
)


def tldr(folder: Path, rng: random.Random) -> Iterator[Pair]:
    """Examples of commands with one option, and the entries of manual pages that describe the options."""
    reserve = {name.rstrip("*") for name in PAGES}
    files = {
        file.stem: file
        for kind in ("common", "linux")
        for file in sorted((folder / "pages" / kind).glob("*.md"))
    }
    manuals = (page for section in "18" for page in sorted(Path(f"/usr/share/man/man{section}").iterdir()))
    pages = {page.name.split(".")[0]: page for page in manuals}
    programs = [
        name for name in files if name in pages and name not in reserve and not name.startswith("git")
    ]
    entries_of = _entries([pages[program] for program in programs])
    for program in programs:
        entries = entries_of.get(pages[program].name, [])
        examples = re.findall(r"^- (.+):\n\n`(.+)`$", files[program].read_text("utf8"), re.MULTILINE)
        for description, command in examples:
            options = set(_OPTION.findall(command))
            short = re.findall(r"\[(-\w)\|(--[\w-]+)\]", command)
            options -= {one for both in short for one in both[:1]}
            if len(options) != 1 or not entries:
                continue
            option = options.pop()
            right = [text for names, text in entries if option in names]
            wrong = [text for names, text in entries if option not in names]
            if not right:
                continue
            asking, plain = rng.choice(ASKING), re.sub(r"\[(\w+)\]|`", r"\1", description)
            question = _asked(asking, plain, program)
            yield Pair(question, right[0], 1, "tldr")
            yield Pair(_asked(asking, plain, rng.choice(programs)), right[0], 0, "tldr, of another program")
            yield from (
                Pair(question, text, 0, "tldr") for text in near_misses(question, wrong, NEAR_MISSES, rng)
            )


def _entries(pages: Sequence[Path]) -> dict[str, list[tuple[set[str], str]]]:
    """Return by file the names of the options of manual pages, with their entries."""
    entries: dict[str, list[tuple[set[str], str]]] = {}
    for record in read(pages):
        if not isinstance(record, Document):
            continue
        name = Path(str(record.metadata["path"])).name
        title = str(record.metadata.get("title") or name)
        for part in answer_parts(record.text):
            names = set(_OPTION.findall(part.text.split(":")[0])) if part.text.startswith("`-") else set()
            if names:
                entries.setdefault(name, []).append((names, with_title(part.text[:400], title, part.heading)))
    return entries


def _asked(asking: str, description: str, program: str) -> str:
    verb, _, rest = description.partition(" ")
    verb = verb.lower()
    does = f"{verb}es" if verb.endswith(("s", "sh", "ch", "x")) else f"{verb}s"
    return asking.format(program=program, do=f"{verb} {rest}", does=f"{does} {rest}")


def _untokenized(line: str) -> str:
    for token, mark in (
        ("-lrb-", "("),
        ("-rrb-", ")"),
        ("-lsb-", "["),
        ("-rsb-", "]"),
        ("``", '"'),
        ("''", '"'),
    ):
        line = line.replace(token, mark)
    return re.sub(r" (?=[.,;:?!)\]%']|n't)|(?<=[(\[$]) ", "", line.strip())


def replaced(pairs: Sequence[Pair], rng: random.Random) -> Iterator[Pair]:
    """Yield some answered questions with a word of the text replaced by one that it does not hold."""
    for place, pair in enumerate(pairs):
        if not pair.label or rng.random() > REPLACED:
            continue
        shared = [word for word in _WORD.findall(pair.question) if word.lower() in words(pair.text)]
        around = [*pairs[max(0, place - 40) : place], *pairs[place + 1 : place + 41]]
        others = {word for other in around for word in words(other.question)}
        new = sorted(others - words(pair.text) - words(pair.question))
        if shared and new:
            old = re.compile(rf"\b{re.escape(rng.choice(shared))}\b")
            question = old.sub(rng.choice(new).replace("\\", ""), pair.question, count=1)
            yield Pair(question, pair.text, 0, f"{pair.source}, replaced")


def asked_above(pairs: Sequence[Pair], rng: random.Random) -> Iterator[Pair]:
    """Yield the texts of some questions below a heading that asks the same: the text must answer, not its heading."""
    questions = sorted({pair.question for pair in pairs})
    sample = set(rng.sample(questions, int(ASKED_ABOVE * len(questions))))
    for pair in pairs:
        if pair.question in sample and "," not in pair.source:
            number = rng.choice(("", f"{rng.randint(1, 15)}.{rng.randint(1, 15)}. "))
            yield pair._replace(
                text=with_title(pair.text, f"{number}{pair.question}"), source=f"{pair.source}, asked above"
            )


READERS: Final[dict[str, Callable[[Path, random.Random], Iterator[Pair]]]] = {
    each.__name__: each for each in (wikiqa, selqa, squad, nqg, qed, medquad, tldr)
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="to write")
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path, nargs="+", default=[], metavar="PATH")
    options: Any = vars(parser.parse_args())
    rng = random.Random(7)
    with options["file"].open("w", encoding="utf8") as file:
        for name, reader in READERS.items():
            pairs = [pair for path in options[name] for pair in reader(path, rng) if pair.text.strip()]
            pairs += replaced(pairs, rng) if name in ("selqa", "nqg", "qed", "squad") else []
            pairs += asked_above(pairs, rng) if name in ("selqa", "nqg", "qed", "wikiqa") else []
            file.writelines(json.dumps(pair._asdict(), ensure_ascii=False) + "\n" for pair in pairs)
            print(
                f"{name}: {len(pairs)} pairs, {sum(pair.label for pair in pairs)} of them answer", flush=True
            )


if __name__ == "__main__":
    main()
