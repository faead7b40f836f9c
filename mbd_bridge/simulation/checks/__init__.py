"""What runs check of themselves, and what they say of trouble."""
