"""Hypothesis times no example: a busy machine is not a failing test."""

from hypothesis import settings

settings.register_profile("sleuth", deadline=None)
settings.load_profile("sleuth")
