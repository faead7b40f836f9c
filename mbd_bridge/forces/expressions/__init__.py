"""What users write as formulas of time: texts, and values with their derivatives."""
