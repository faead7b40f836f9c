"""Elementary functions, each written once as a list of machine operations.

What is written here becomes a function over the lanes of a vector in machine code, the same
function of one state, and a static function in C source: with the same digits, since every
operation in it is rounded as IEEE 754 says. None of them branches, calls a library, or gives
anything but nan for nan.
"""
