"""The papers, a file a stage: pure functions over floats and symbols."""
