"""Answers that are not ours: closed forms, published values, many digits."""
