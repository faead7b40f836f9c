"""One trajectory: what is asked, the start, the steps, records, checkpoints, events."""
