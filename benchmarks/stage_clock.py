"""CPU time by stage: functions are watched by name, and the time of a stage inside of another counts once."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class StageClock:
    """CPU time of this process's threads by stage, in seconds.

    Args:
        stages: names, in the order in which they are shown.
    """

    def __init__(self, stages: Iterable[str]) -> None:
        self.seconds = dict.fromkeys(stages, 0.0)
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    def _charge(self, stack: list[str]) -> None:
        now = time.thread_time()
        if stack:
            with self._lock:
                self.seconds[stack[-1]] += now - self._of_thread.since
        self._of_thread.since = now

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Charge the thread's time to a stage for the length of a block."""
        stack: list[str] = self._of_thread.__dict__.setdefault("stack", [])
        self._charge(stack)
        stack.append(name)
        try:
            yield
        finally:
            self._charge(stack)
            stack.pop()

    def watch(self, name: str, module: str, path: str) -> None:
        """Count the time of a function, or of each step of a generator, from now on."""
        *owners, last = path.split(".")
        owner = functools.reduce(getattr, owners, sys.modules[module])
        function: Callable[..., Any] = getattr(owner, last)

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.stage(name):
                return function(*args, **kwargs)

        @functools.wraps(function)
        def timed_steps(*args: Any, **kwargs: Any) -> Iterator[Any]:
            steps = function(*args, **kwargs)
            end = object()
            while True:
                with self.stage(name):
                    step = next(steps, end)
                if step is end:
                    return
                yield step

        setattr(owner, last, timed_steps if inspect.isgeneratorfunction(function) else timed)
