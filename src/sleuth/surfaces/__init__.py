"""The ways in: command line, HTTP and MCP. They parse, call the engine and render."""
