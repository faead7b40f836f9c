"""What a motion is given: forces, wrenches, prescribed motions; numbers, formulas, tables."""
