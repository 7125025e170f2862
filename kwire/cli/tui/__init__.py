"""The terminal interface of `kwire browse`; only it needs textual."""
