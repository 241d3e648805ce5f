"""Evaluation: how good a ranking is, and whether one is better than another."""
