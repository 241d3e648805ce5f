"""Languages of code beside those of the core, a package each: its queries, its imports, and its rules about names."""
