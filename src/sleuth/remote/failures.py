"""Failures of a request, with messages that repeat no secret."""

from __future__ import annotations


class BrokenError(Exception):
    """No whole answer came: reset, cut short, or not HTTP."""


class UnreachableError(BrokenError):
    """No connection was made, so nothing was sent."""


class LateError(BrokenError, TimeoutError):
    """The answer was not complete at the deadline."""


class CertificateError(Exception):
    """The server has no valid certificate for its name."""


class LargeError(Exception):
    """The answer is larger than allowed."""
