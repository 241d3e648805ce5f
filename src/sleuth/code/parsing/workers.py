"""Parses sources in processes, each under limits of time and memory.

A source that exceeds the limits, or makes the parser abort, ends its process. The sources of its batch are then parsed
one by one in new processes. The source itself is cut as plain text, and the reason is kept. Where others end the
processes, the source is not judged: it is tried again, and then the run fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from sleuth.code.parsing.facts import Facts, SourceText, facts_of_text, pack_sources, unpack_facts
from sleuth.code.parsing.limits import MEMORY, OUT_OF_MEMORY, UNPARSED, seconds_for
from sleuth.errors import CodeError
from sleuth.files.processes import ProcessEndedError, Processes, ProcessStartError
from sleuth.protocols import Closing


class Workers(Closing):
    """Parses batches of sources in processes, which are started when they are needed.

    Attributes:
        processes: that parse.
    """

    def __init__(self, count: int) -> None:
        """Use up to `count` processes at once."""
        self.count = count
        self.processes = Processes("sleuth.code.parsing.worker", MEMORY)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="sleuth-parse")

    def submit(self, sources: Sequence[SourceText]) -> Future[list[Facts]]:
        """Hand over a batch; its result has the facts of each source, in order.

        The result raises CodeError where a grammar does not fit, no process can be started, or others end them.
        """
        return self._threads.submit(self._parse, sources)

    def close(self) -> None:
        """End the processes, whatever they are doing. Closing twice is fine."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.processes.close()
        self._threads.shutdown(wait=True)

    def _parse(self, sources: Sequence[SourceText]) -> list[Facts]:
        size = sum(len(source.text) for source in sources)
        try:
            head, body = self.processes.ask(*pack_sources(sources), seconds_for(size))
        except ProcessStartError as error:
            raise CodeError(str(error)) from error
        except ProcessEndedError as error:
            if error.limit == "outside" and len(sources) == 1:
                raise CodeError(
                    f"{sources[0].path} could not be parsed: two processes slept or were ended by others "
                    f"({error.ending}); nothing of this run is kept, so run it again when the machine has room"
                ) from error
            limit = f"it takes more than {seconds_for(size):.0f} s of CPU time"
            if error.limit != "time":
                limit = f"the process that parsed it ended with status {error.status}"
            # Where memory is refused, tree-sitter ends the process.
            failure = (
                OUT_OF_MEMORY if error.limit == "memory" else f"{UNPARSED}{limit}; searched as plain text"
            )
        else:
            if "error" in head:
                raise CodeError(head["error"])
            if "spent" not in head:
                return unpack_facts(head, body)
            failure = OUT_OF_MEMORY
        if len(sources) == 1:
            return [facts_of_text(sources[0], failure)]
        return [facts for source in sources for facts in self._parse([source])]
