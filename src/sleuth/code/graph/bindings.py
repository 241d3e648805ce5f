"""Finds the names that a function binds itself: its parameters, and what it assigns, loops over or declares."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = r"[$@%]?[^\W\d]\w*"
_ASSIGNED: Final = re.compile(
    rf"""^[ \t]*
    (?:[\w:<>,\[\]*&.?]+[ \t*&]+){{0,4}}?                       # words and types before it
    \(?\*?[ \t]*({_NAME}(?:[ \t]*,[ \t]*{_NAME})*)\)?           # one name, or several
    (?:[ \t]*:[^=\n]{{1,80}}|\([^()\n]{{0,80}}\))?              # a type, or the parameters of a pointer to a function
    [ \t]*(?::=|=(?![=>~]))(?!.*,[ \t]*$)                       # an argument on a line of its own ends in a comma
    """,
    re.MULTILINE | re.VERBOSE,
)
_DECLARED: Final = re.compile(
    r"\b(?:let|const|var|val|auto|local|for|foreach|as|catch|except|with)\b[ \t]*\(?[ \t]*"
    rf"(?:mut[ \t]+|const[ \t]+|let[ \t]+|auto[ \t&*]+)?({_NAME}(?:[ \t]*,[ \t]*{_NAME})*)"
)
_TYPED_LOOP: Final = re.compile(rf"\bfor(?:each)?[ \t]*\([^()\n;]*?({_NAME})[ \t]*(?::|\bin\b)")
_PARAMETERS: Final = re.compile(
    rf"\|([^|\n]{{1,80}})\||({_NAME})[ \t]*=>|\(([^()\n]{{0,120}})\)[ \t]*=>|\blambda\b([^:\n]{{0,80}}):"
    rf"|\{{[ \t]*([^{{}}\n]{{1,80}}?)[ \t]*->"
)
_WORD: Final = re.compile(_NAME)


def bound_in(signature: str, body: str) -> frozenset[str]:
    """Return the names that a definition binds, and other words of its signature, without sigils.

    It reads text, not syntax, so that it does for all languages; types in a signature are among the names.

    Args:
        signature: with the parameters; "" for code outside of functions.
        body: the text of the definition.
    """
    head, _, rest = signature.partition("(")
    own = set(_WORD.findall(head)[-1:])
    names = {name for name in _WORD.findall(rest) if name not in own}
    lines = body.split(
        "\n"
    )  # a pattern takes ten times as long as `in` to tell a line where it does not match
    with_equals = "\n".join(line for line in lines if "=" in line)
    with_arrows = "\n".join(line for line in lines if ">" in line or "|" in line or "lambda" in line)
    places = ((_ASSIGNED, with_equals), (_DECLARED, body), (_TYPED_LOOP, body), (_PARAMETERS, with_arrows))
    for pattern, text in places:
        for match in pattern.finditer(text):
            names.update(word for group in match.groups() if group for word in _WORD.findall(group))
    return frozenset(name.lstrip("$@%") for name in names)
