"""Compiled functions as Python holds and calls them."""
