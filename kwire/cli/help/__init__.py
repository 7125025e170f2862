"""Help topics, the man page, completion in shells."""
