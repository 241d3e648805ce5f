"""Ways in which a file comes to hold other bytes than those that were written."""

import random
from collections.abc import Callable
from dataclasses import dataclass

PAGE = 8192


@dataclass(frozen=True)
class Victim:
    """A file that is about to be damaged.

    Attributes:
        data: what it holds.
        foreign: what the same file of another index holds.
        earlier: what it held at an earlier version.
    """

    data: bytes
    foreign: bytes = b""
    earlier: bytes = b""


def flip(victim: Victim, rng: random.Random) -> bytes:
    """Change a bit."""
    at = rng.randrange(len(victim.data))
    return victim.data[:at] + bytes([victim.data[at] ^ 1 << rng.randrange(8)]) + victim.data[at + 1 :]


def change(victim: Victim, rng: random.Random) -> bytes:
    """Change a byte."""
    at = rng.randrange(len(victim.data))
    return victim.data[:at] + rng.randbytes(1) + victim.data[at + 1 :]


def zero(victim: Victim, rng: random.Random) -> bytes:
    """Zero a page."""
    start = rng.randrange(len(victim.data)) // PAGE * PAGE
    end = min(len(victim.data), start + PAGE)
    return victim.data[:start] + bytes(end - start) + victim.data[end:]


def truncate(victim: Victim, rng: random.Random) -> bytes:
    """Leave the beginning."""
    return victim.data[: rng.randrange(len(victim.data))]


def extend(victim: Victim, rng: random.Random) -> bytes:
    """Add bytes at the end."""
    return victim.data + rng.randbytes(rng.randrange(1, 100))


def garble(victim: Victim, rng: random.Random) -> bytes:
    """Put noise in the place of up to 4 kB."""
    start = rng.randrange(len(victim.data))
    end = min(len(victim.data), start + rng.randrange(1, 4096))
    return victim.data[:start] + rng.randbytes(end - start) + victim.data[end:]


def swap(victim: Victim, rng: random.Random) -> bytes:
    """Put the page of another index in the place of one."""
    start = rng.randrange(len(victim.data)) // PAGE * PAGE
    page = victim.foreign[start : start + PAGE] or victim.foreign[:PAGE]
    return victim.data[:start] + page + victim.data[start + len(page) :]


def replace(victim: Victim, rng: random.Random) -> bytes:
    """Put the file of another index in its place."""
    return victim.foreign


def restore(victim: Victim, rng: random.Random) -> bytes:
    """Put the file of an earlier version back."""
    return victim.earlier


Damage = Callable[[Victim, random.Random], bytes]
SAME_SIZE: tuple[Damage, ...] = (flip, change, zero, garble)
DAMAGES: tuple[Damage, ...] = (
    flip, change, zero, truncate, extend, garble, swap, replace, restore,
)  # fmt: skip
