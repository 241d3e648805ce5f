"""Types of questions, in English, and what can answer each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from sleuth.answer.parts import Part
from sleuth.answer.words import names_of

QuestionType = Literal[
    "who", "when", "where", "number", "option", "steps", "definition", "reason", "whether", "other"
]

_PATTERNS: dict[QuestionType, str] = {
    "number": r"\bhow (?:many|much|old|far|long|large|big|tall|high|fast|often)\b"
    r"|\b(?:what|which) (?:percentage|number|size|port|exit (?:status|code)|default (?:port|size|value|number))\b",
    "when": r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b",
    "where": r"^\W*where\b|\bin (?:what|which) (?:file|folder|directory|place|city|country)\b",
    "who": r"\b(?:who|whom|whose)\b",
    "reason": r"\bwhy\b|\bwhat (?:causes|is the reason)\b",
    "option": r"\b(?:which|what)\b[\w\s-]{0,30}?\b(?:options?|flags?|switch(?:es)?|arguments?|parameters?|settings?)\b",
    "steps": r"\bhow (?:do|does|can|should|could|would|to)\b|\b(?:which|what) command\b",
    "definition": r"^\W*what(?:'s| is| are)\b|^\W*what (?:do|does) .{1,60}\b(?:mean|do|return)\W*$"
    r"|^\W*(?:define|explain)\b",
    "whether": r"^\W*(?:is|are|was|were|do|does|did|can|could|has|have|had|should|will|would|may|might|must)\b"
    r"|: (?:is|are|do|does|can)\b",
}
_TYPES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()}
"""In the order in which they are tried."""

_NUMBER = re.compile(
    r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|half|"
    r"once|twice|every|each|daily|weekly|monthly|yearly|hourly|never|unlimited|no limit)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<![\w.,])[12]\d{3}(?![\w,]|\.\d)|\b\d{1,2}(?:st|nd|rd|th)\b|\d:\d\d|\b(?:january|february|march|april|may|june|july|august|september|"
    r"october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|century|decade|before|after|until|"
    r"when|once|while|during|every|each time|at start|at the end)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?<![\w.,-])[12]\d{3}s?(?!\w|[,.]\d)|\b\d{1,2}(?:st|nd|rd|th)\b|\d:\d\d|\b(?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|century|decade|ago|BCE?|AD)\b"
)
_PAST = re.compile(
    r"\bwhen (?:was|were|did)\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b", re.IGNORECASE
)
"""Questions for a time that a date answers, and "before it starts" does not."""
_REASON = re.compile(
    r"\b(?:because|since|so that|in order to|due to|owing to|therefore|thus|reason|otherwise|to avoid|to prevent|"
    r"which is why|as a result|means that)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"^(?:to |use |run |call |set |add |create |open |install |pass |write |click |first |then |you can |you |"
    r"if you want|by )|\buse\b|\brun\b|\bcall\b|\bcan be\b|\$ |`",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:in|at|on|near|under|below|inside|from|to)\b|[/\\]\w", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^\W*(?:what(?:'s| is| are| does| do)|define|explain)\s+(?:an?\s+|the\s+)?"
    r"|(?<!\s)\s++(?:mean|stand for|do|return)\b",
    re.IGNORECASE,
)
_FINDING = re.compile(
    r"\b(?:conclu|suggest|show|demonstrat|indicat|reveal|support|confirm|associated|significant|correlat|appears? to|"
    r"result|finding|found that|yes\b|no\b|not\b|can(?:not)?\b|must\b|never\b|always\b)",
    re.IGNORECASE,
)
_AIM = re.compile(
    r"^\W*to (?:\w+ly )?(?:determin|evaluat|investigat|assess|examin|compar|test|explor|describ|study|analy|identify)|"
    r"\b(?:aim|objective|purpose|goal)s?\b.{0,40}\b(?:was|is|were|to)\b|"
    r"\b(?:un(?:known|clear|certain)|controversial|questioned|hypothes|whether)|"
    r"\bwe (?:sought|aimed|investigated|examined|explored|tested|assessed|evaluated|compared|searched)\b",
    re.IGNORECASE,
)
"""How a text says what it asks, which is no answer."""
_PERSON = re.compile(r"(?<![\w'-])[A-Z][\w'-]*+(?: (?:[A-Z]\.|[a-z]{1,3}))? [A-Z][\w'-]++")
_OPTION = re.compile(r"[^\w-]*+(?:--?[\w?#@]|[\w.-]++`?:\s)")
"""How the entry of an option or a setting begins."""
_IS = re.compile(r"is|are|was|means?|refers?|stands?|denotes?|describes?|consists?|defines?")

_PROGRAM = re.compile(
    r"\b(?:which|what)\b[^?]{0,40}?\b(?!(?:the|an?|this|that) )([\w.-]{1,40}) (?:options?|flags?|switch(?:es)?)\b"
    r"|\b(?:options?|flags?|switch(?:es)?) (?:of|to|for) (?:git )?([\w.-]{1,40})",
    re.IGNORECASE,
)
"""The program whose option is asked for; the last word of its name."""

_FORMS: dict[QuestionType, re.Pattern[str]] = {
    "number": _NUMBER,
    "reason": _REASON,
}

TYPED = frozenset({"who", "when", "where", "number"})
"""Types whose answer has a form of its own: a quote without a name, a time, a place or a number does not answer."""

ENTRIES = frozenset({"definition", "option", "whether"})
"""Types whose answer has a place of its own: the sentence that defines, the entry of an option, the conclusion."""

_NO = (
    r"--?no-|\bno[nt]?\b|\bnever\b|\bwithout\b|n't\b|\bcannot\b|\bexcept\b|"
    r"\b(?:disab|ignor|exclu|suppress|omit|skip|prevent)\w*"
)


_ANYTHING = re.compile("")
_NOTHING = re.compile("(?!)")
_DENIED = re.compile(rf"{_NO}|\bturns? off\b|\bleaves? out\b|\bkeeps? from\b", re.IGNORECASE)
_DENIES = re.compile(
    rf"{_NO}|\boff\b|\bfalse\b|\bleaves? out\b|\binstead\b|\bregardless\b|\binsensitive\b", re.IGNORECASE
)
_ONLY = re.compile(r"\bonly\b|\bjust\b|\benables?\b|\bturns? on\b", re.IGNORECASE)
_LEAVES_OUT = re.compile(r"--?no-|\bskip|\bexclud|\bomit|\bdisab", re.IGNORECASE)


class Polarity(NamedTuple):
    """A rule about words of a question that turn its meaning round.

    Attributes:
        asked: words of the question.
        needed: what a quote must hold then.
        refused: what it must not hold.
    """

    asked: re.Pattern[str]
    needed: re.Pattern[str]
    refused: re.Pattern[str]


_POLARITIES: Final = (Polarity(_DENIED, _DENIES, _NOTHING), Polarity(_ONLY, _ANYTHING, _LEAVES_OUT))


def holds_polarity(question: str, text: str) -> bool:
    """Return whether a quote does not say the contrary: "--no-merges" is no answer to "only merges"."""
    for rule in _POLARITIES:
        if rule.asked.search(question) and (not rule.needed.search(text) or rule.refused.search(text)):
            return False
    return True


def fits_question(question: str, part: Part) -> bool:
    """Return whether a part has the name, time, place or number that is asked for, and does not say the contrary."""
    kind = question_type(question)
    return holds_polarity(question, part.text) and (kind not in TYPED or suits(kind, part, question) > 0)


def program_of(question: str) -> str:
    """Return the last word of the name of the program whose option a question asks for, in lower case, or ""."""
    match = _PROGRAM.search(question)
    return (match[1] or match[2]).lower() if match else ""


def question_type(question: str) -> QuestionType:
    """Return what a question asks for; "other" where its words do not tell."""
    return next((name for name, pattern in _TYPES.items() if pattern.search(question)), "other")


def suits(kind: QuestionType, part: Part, question: str) -> float:
    """Return how far a part is of the form that answers such a question, 0 to 1.

    Args:
        kind: of the question, as `question_type` says.
        question: names in it are no answer to "who".
    """
    if kind in _JUDGED:
        return float(_JUDGED[kind](part, question))
    form = _FORMS.get(kind)
    return float(form is not None and form.search(part.text) is not None)


def _names_someone(part: Part, question: str) -> float:
    """Return 1 for a name of several words that the question lacks, and half for one of one word."""
    lower_question = question.casefold()
    if any(name.casefold() not in lower_question for name in _PERSON.findall(part.text)):
        return 1.0
    return 0.5 * any(name.casefold() not in lower_question for name in names_of(part.text))


def _defines(part: Part, question: str) -> float:
    """Return 1 for "Subject is …" or "Subject: …", 0.5 for another part that begins with the subject, else 0.

    Articles, markup and a plural ending are ignored.
    """
    subject = " ".join(_SUBJECT.sub("", question).split()).rstrip("?!. ")
    if not subject:
        return 0.0
    words = map(re.escape, re.findall(r"\w+", subject.casefold().removesuffix("s")))
    name = r"[\s_-]?".join(words)
    # `\w{0,2}` after the name: plural or singular.
    begins = re.match(
        rf"(?>\W*?(?=\w))(?:(?:an?|the)\s++[`*]*)?{name}\w{{0,2}}(?P<gap>\W+)(?P<verb>\w+)",
        part.text.casefold(),
    )
    if begins is None:
        return 0.0
    return 1.0 if _IS.fullmatch(begins["verb"]) or begins["gap"].startswith((":", "`:")) else 0.5


_JUDGED: Final[Mapping[QuestionType, Callable[[Part, str], float | bool]]] = {
    "definition": _defines,
    "option": lambda part, _: _OPTION.match(part.text) is not None,
    "steps": lambda part, _: part.kind == "code" or "\n" in part.text or _STEPS.search(part.text) is not None,
    "when": lambda part, question: (_DATE if _PAST.search(question) else _TIME).search(part.text) is not None,
    "where": lambda part, question: (
        _PLACE.search(part.text) is not None or _names_someone(part, question) > 0
    ),
    "whether": lambda part, _: _FINDING.search(part.text) is not None and _AIM.search(part.text) is None,
    "who": _names_someone,
}
"""Types whose form takes more than one pattern."""
