"""`kwire browse`: frames as a list, the fields and the bytes of one of them side by side, in a terminal."""
