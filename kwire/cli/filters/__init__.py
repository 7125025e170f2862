"""Which frames and records a command shows."""
