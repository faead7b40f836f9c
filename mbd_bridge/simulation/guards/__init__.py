"""What runs check of themselves: energy, loops, length of steps; what they say of trouble."""
