"""The server of the tests of HTTP."""

from tests.surfaces.http.conftest import index, server  # noqa: F401 - fixtures
