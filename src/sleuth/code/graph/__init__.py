"""Definitions, references and modules as a graph, resolved at a snapshot."""
