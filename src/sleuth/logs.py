"""Gives each family its logger: silent until the program that uses Sleuth configures logging."""

from __future__ import annotations

import logging


def logger_of(family: str) -> logging.Logger:
    """Return the logger `sleuth.FAMILY`.

    Queries, texts and keys are logged at level DEBUG at most.
    """
    root = logging.getLogger("sleuth")
    if not root.handlers:
        root.addHandler(logging.NullHandler())  # else Python prints warnings on standard error
    return logging.getLogger(f"sleuth.{family}")


def is_configured(logger: logging.Logger) -> bool:
    """Return whether the program that uses Sleuth handles what this logger logs."""
    handlers = list(logger.handlers)
    while logger.propagate and logger.parent is not None:
        logger = logger.parent
        handlers += logger.handlers
    return not all(isinstance(handler, logging.NullHandler) for handler in handlers)
