"""What is handed to a reader or a prompt: a piece of code, where it lives and what it uses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sleuth.arguments import check_count
from sleuth.types import Explanation, PartReport, RetrievedItem

ROLES = {
    "call": "Calls",
    "instantiation": "Instantiates",
    "inheritance": "Inherits",
    "import": "Imports",
    "reference": "References",
}
_SHOWN = 12
"""Names per role that `render` lists."""


@dataclass
class RetrievedContext:
    """A hit with its surroundings.

    Attributes:
        file_path: relative to the root of the repository.
        content: exactly lines `start_line` to `end_line`, 1-based and inclusive, without the last newline.
        score: in [0, 1], higher is better.
        semantic_labels: what the definition is, such as `class_definition` or `public_api`.
        parent_context: `{"type", "name", "line"}` of the container; None at the file's top.
        outgoing_definitions: `{"name", "role"}` per name used, with `file_path`, `line` and `confidence` where it is
            defined in the repository, and `external_name`, such as `stripe.Client.charge`, where an import says what
            a call of another project means. Roles: call, instantiation, import, inheritance, reference.
        id: path, lines and content hash; equal pieces at equal places have equal ids.
        repo, snapshot: their ids.
        symbol: qualified name of the definition, "" for code between definitions.
        signature: its head on one line.
        related: by kind (`callers`, `callees`, `siblings`, `implementations`, `tests`), where asked for.
        explanation: how the score is computed.
    """

    file_path: str
    content: str
    start_line: int
    end_line: int
    score: float
    semantic_labels: list[str] = field(default_factory=list)
    parent_context: dict[str, Any] | None = None
    outgoing_definitions: list[dict[str, Any]] = field(default_factory=list)
    id: str = ""
    repo: str = ""
    snapshot: str = ""
    language: str = ""
    symbol: str = ""
    signature: str = ""
    related: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    explanation: Explanation | None = None

    @property
    def text(self) -> str:
        """The code: `content` under the name that passages and documents have."""
        return self.content

    def render(self) -> str:
        """Markdown for a prompt: place, container, code and relations."""
        parts = []
        for role, verb in ROLES.items():
            names = list(dict.fromkeys(d["name"] for d in self.outgoing_definitions if d["role"] == role))
            if names:
                ellipsis = ", …" if len(names) > _SHOWN else ""
                parts.append(f"{verb}: {', '.join(names[:_SHOWN])}{ellipsis}")
        relations = [f"[RELATIONS] {'; '.join(parts)}"] if parts else []
        return "\n".join([*self._head(), "[CODE]", self.content, *relations])

    def outline(self) -> str:
        """`render` with the signature in place of the code."""
        return "\n".join([*self._head(), "[OUTLINE]", self.signature or self.content.split("\n", 1)[0]])

    def place(self) -> str:
        """Return its path, lines and name, on one line."""
        return f"- {self.file_path}:{self.start_line}-{self.end_line} {self.symbol}".rstrip()

    def to_item(self, *, explain: bool = False) -> RetrievedItem:
        """Return the hit as an item of a ranking; a piece of code without a name has that of its container."""
        container = self.parent_context or {}
        metadata = {
            "path": self.file_path,
            "source": self.file_path,
            "source_type": "code",
            "language": self.language,
            "symbol": self.symbol,
            "heading": f"in {container['type']} {container['name']}" if container else "",
            "start_line": self.start_line,
            "end_line": self.end_line,
        }
        item = RetrievedItem(id=self.id, text=self.content, metadata=metadata, score=self.score)
        if explain and self.explanation is not None:
            item.extra["explanation"] = self.explanation
        return item

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON; the code is `text` there, as of every item."""
        names = {name: "text" if name == "content" else name for name in self.__dataclass_fields__}
        values = {key: getattr(self, name) for name, key in names.items()}
        return values | {"explanation": self.explanation.to_dict() if self.explanation else None}

    def _head(self) -> list[str]:
        lines = [f"### File: {self.file_path} (L{self.start_line}-{self.end_line})"]
        if self.parent_context:
            lines.append(f"[CONTEXT] Inside {self.parent_context['type']} {self.parent_context['name']}")
        return lines


class RetrievedContexts(list[RetrievedContext]):
    """Hits, best first, with what each leg did.

    Attributes:
        parts: a report of each leg that was asked; none for a blank query.
    """

    def __init__(self, hits: Iterable[RetrievedContext] = (), parts: Sequence[PartReport] = ()) -> None:
        super().__init__(hits)
        self.parts = tuple(parts)


def piece_id(path: str, start: int, end: int, content: str) -> str:
    """Name a piece of code by its path, lines and content."""
    digest = hashlib.sha1(content.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return f"{path}:{start}-{end}@{digest[:12]}"


def count_tokens(text: str) -> int:
    """About how many tokens a model sees: a quarter of the characters, which is near for code."""
    return (len(text) + 3) // 4


_FORMS: Final = (
    (RetrievedContext.render, 0.6),  # 40 % is left for more hits in fewer lines
    (RetrievedContext.outline, 0.8),  # a fifth is left for places, of one line each
    (RetrievedContext.place, 1.0),
)
"""How a hit is shown, and the share of a budget that is spent when no further hit is shown so."""


def render_context(hits: Sequence[RetrievedContext], budget: int = 4000) -> str:
    """Render hits, best first, in ever shorter forms: whole bodies, then signatures, then one-line locations.

    Bodies take up to 60 % of the budget, bodies and signatures together up to 80 %, and what does not fit after that is
    left out. The first hit may take the whole budget. No hit is shown in more detail than one that is ranked above it.

    Args:
        budget: tokens, as `count_tokens` counts them; never exceeded.
    """
    check_count(budget, "budget")
    forms = iter(_FORMS)
    form, share = next(forms)
    text, last_piece = "", ""
    for hit in hits:
        while True:
            piece = form(hit)
            between = "\n" if last_piece.startswith("- ") and piece.startswith("- ") else "\n\n"
            longer = f"{text}{between}{piece}" if text else piece
            if count_tokens(longer) <= (share * budget if text else budget):
                text, last_piece = longer, piece
                break
            shorter = next(forms, None)
            if shorter is None:
                return text
            form, share = shorter
    return text
