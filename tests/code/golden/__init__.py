"""Indexes of code that earlier versions wrote."""
