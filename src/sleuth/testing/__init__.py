"""Tests and servers for plugin authors and for ourselves: contract suites, and local servers for remote
protocols.

Import what is needed from its module: `sleuth.testing.tavily`, `sleuth.testing.aws`, `sleuth.testing.ollama`,
`sleuth.testing.faults`.
"""
