"""What a motion is made of when it is there: records, accelerations, energy, loads."""
