"""An index of code of each released format."""
