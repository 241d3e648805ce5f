"""What do plugin authors and our own tests check with? Contract suites, and local servers for remote
protocols.

Import what is needed from its module: `sleuth.testing.tavily`, `sleuth.testing.aws`, `sleuth.testing.ollama`,
`sleuth.testing.faults`.
"""
