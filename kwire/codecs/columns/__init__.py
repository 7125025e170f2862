"""Arrays of messages as Arrow columns, without a Python object per value."""
