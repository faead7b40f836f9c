"""Machine code: made, addressed, kept on disk, loaded."""
