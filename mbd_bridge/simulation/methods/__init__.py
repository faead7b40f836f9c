"""Ways of keeping loops closed, one readable step at a time."""
