"""One step of a system: the function, its machine code, steps in other loops, in C."""
