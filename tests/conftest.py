"""Hypothesis times no example: a busy machine is not a failing test.

Where CI is set it also tries the same examples on every run, so that a failure tells of the change and not of luck;
elsewhere it goes on exploring.
"""

import os

from hypothesis import settings

settings.register_profile("sleuth", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("sleuth")
