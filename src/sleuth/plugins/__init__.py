"""What the core does not need: each folder is one plugin, and `table.py` names what they add."""
