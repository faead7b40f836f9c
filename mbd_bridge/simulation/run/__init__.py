"""One trajectory: what is asked, the steps, records, checkpoints, events."""
