"""A page about a machine and a motion: what it carries, what its drives need, who agrees."""
