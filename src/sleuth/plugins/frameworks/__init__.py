"""Sleuth in other frameworks: a module for each, which is imported by its name and needs the framework's extra."""
