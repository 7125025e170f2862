"""The command line: one module per command, and `main`, which runs them. The only package that prints."""
