"""The commands of `kwire`, one file each: its options, and what it does."""
