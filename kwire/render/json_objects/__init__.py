"""The JSON of frames and records, format version 1, and templates of it."""
