"""Types of questions, in English, and what can answer each."""

from __future__ import annotations

import re
from typing import Literal

from sleuth.answer.names import names_of
from sleuth.answer.parts import Part

QuestionType = Literal["who", "when", "where", "number", "steps", "definition", "reason", "other"]

_PATTERNS: dict[QuestionType, str] = {
    "number": r"\bhow (?:many|much|old|far|long|large|big|tall|high|fast|often)\b"
    r"|\bwhat (?:percentage|number|size)\b",
    "when": r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b",
    "where": r"^\W*where\b|\bin (?:what|which) (?:file|folder|directory|place|city|country)\b",
    "who": r"\b(?:who|whom|whose)\b",
    "reason": r"\bwhy\b|\bwhat (?:causes|is the reason)\b",
    "steps": r"\bhow (?:do|does|can|should|could|would|to)\b|\b(?:which|what) command\b",
    "definition": r"^\W*what(?:'s| is| are| does \w+ mean)\b|^\W*(?:define|explain)\b",
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
    r"^\W*(?:what(?:'s| is| are| does)|define|explain)\s+(?:an?\s+|the\s+)?|(?<!\s)\s++(?:mean|stand for)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"is|are|was|means?|refers?|stands?|denotes?|describes?|consists?|defines?")

_FORMS: dict[QuestionType, re.Pattern[str]] = {
    "number": _NUMBER,
    "when": _TIME,
    "reason": _REASON,
    "steps": _STEPS,
}


def question_type(question: str) -> QuestionType:
    """Return what a question asks for; "other" where its words do not tell."""
    return next((name for name, pattern in _TYPES.items() if pattern.search(question)), "other")


def suits(kind: QuestionType, part: Part, question: str) -> float:
    """Return how far a part is of the form that answers such a question, 0 to 1.

    Args:
        kind: of the question, as `question_type` says.
        question: names in it are no answer to "who".
    """
    if kind == "definition":
        return _defines(part.text, question)
    if kind in ("who", "where"):
        asked = question.casefold()
        named = any(name.casefold() not in asked for name in names_of(part.text))
        return float(named or (kind == "where" and _PLACE.search(part.text) is not None))
    if kind == "steps" and (part.kind == "code" or "\n" in part.text):
        return 1.0
    form = _FORMS.get(kind)
    return float(form is not None and form.search(part.text) is not None)


def _defines(text: str, question: str) -> float:
    """Return 1 for "Subject is …", and half for another sentence that begins with the subject."""
    subject = " ".join(_SUBJECT.sub("", question).split()).rstrip("?!. ")
    if not subject:
        return 0.0
    name = re.escape(subject.casefold().removesuffix("s"))
    begins = re.match(
        rf"(?>\W*?(?=\w|{name}))(?:(?:an?|the)\s++[`*]*)?{name}\w{{0,2}}\W+(\w+)", text.casefold()
    )
    if begins is None:
        return 0.0
    return 1.0 if _IS.fullmatch(begins.group(1)) else 0.5
