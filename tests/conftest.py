"""Settings of all tests.

Hypothesis times no example: a busy machine is not a failing test. It tries the same examples on every run, so that a
failure comes from the change and not from luck; with SLEUTH_EXPLORE (`make campaigns`) it tries new examples. Ctrl-C
works in tests although a shell may start background commands, and so CI, with Ctrl-C ignored.

Processes that tests start keep compiled modules, which saves each a quarter of a second where the environment turns
that off, and start no threads for matrices, which would spin on cores that other tests need.
"""

import gc
import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

from tests.examples import EXPLORING

settings.register_profile(
    "sleuth", deadline=None, derandomize=not EXPLORING, max_examples=100 if EXPLORING else 30
)
settings.load_profile("sleuth")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what collecting makes (two million objects, hardly any garbage) to no later search for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
