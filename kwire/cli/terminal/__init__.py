"""The terminal: colours, the pager, progress, remarks, escaped output."""
