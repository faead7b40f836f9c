"""A machine at wall-clock pace, driven by named inputs: `runner.RealTime`."""
