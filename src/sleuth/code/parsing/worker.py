"""The process that parses: `python -m sleuth.code.parsing.worker BYTES`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sleuth import platform
from sleuth.code.parsing.facts import facts_of, pack_facts, unpack_sources
from sleuth.code.parsing.grammars import grammar
from sleuth.errors import CodeError
from sleuth.files.serving import serve

_BETWEEN_COLLECTIONS: Final = 50


class _Parser:
    """Answers requests; counts sources, as looking for cycles after each would cost a fifth of the time."""

    def __init__(self) -> None:
        self.parsed = 0
        gc.disable()
        gc.freeze()

    def answers(self, request: Mapping[str, Any], body: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield the facts of a batch of sources, the error of a grammar, or that the memory is spent."""
        batch = []
        try:
            sources = unpack_sources(request, body)
            for language in dict.fromkeys(source.language for source in sources if source.language):
                seconds = platform.limit_cpu(0)  # to compile its queries takes up to half a second
                grammar(language)
                platform.limit_cpu(seconds)
                # An answer in between: the sources have their time by the clock, too.
                yield {"more": True}, b""
            for source in sources:
                batch.append(facts_of(source))
                self.parsed += 1
                if self.parsed % _BETWEEN_COLLECTIONS == 0:
                    gc.collect()
            yield pack_facts(batch)
        except MemoryError:
            yield {"spent": True}, b""
        except CodeError as error:
            yield {"error": str(error)}, b""


if __name__ == "__main__":
    serve(int(sys.argv[1]), _Parser().answers)
