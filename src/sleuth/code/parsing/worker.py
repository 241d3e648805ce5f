"""The process that parses: `python -m sleuth.code.parsing.worker BYTES`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sleuth.code.parsing.facts import Source, facts_of, facts_of_text, pack_facts
from sleuth.code.parsing.limits import OUT_OF_MEMORY
from sleuth.errors import CodeError
from sleuth.files import serve

_BETWEEN_COLLECTIONS: Final = 50


class _Parser:
    """Answers requests; counts them, as looking for cycles after each would cost a fifth of the time."""

    def __init__(self) -> None:
        self.answered = 0
        gc.disable()
        gc.freeze()

    def answers(self, request: Mapping[str, Any], text: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield the facts of a source, or the error of its grammar."""
        self.answered += 1
        if self.answered % _BETWEEN_COLLECTIONS == 0:
            gc.collect()
        source = Source(request["path"], text, request["language"])
        try:
            yield pack_facts(facts_of(source))
        except MemoryError:
            head, body = pack_facts(facts_of_text(source, OUT_OF_MEMORY))
            yield {**head, "spent": True}, body
        except CodeError as error:
            yield {"error": str(error)}, b""


if __name__ == "__main__":
    serve(int(sys.argv[1]), _Parser().answers)
