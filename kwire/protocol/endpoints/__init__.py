"""The two ends of a connection, without I/O: a client and a broker of one's own."""
