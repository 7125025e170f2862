"""Programs around the tests: longer fuzzing, and mutants that tests should notice. `dev.py` starts them."""
