"""What is made of loads and motions: each folder can be deleted, and the rest works."""
