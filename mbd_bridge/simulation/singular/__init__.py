"""Positions in which loops lose their hold: trust in steps, and the way past."""
