"""`kwire.open` and what it returns: iterators over anything that kwire reads, for programs with and without a loop."""
