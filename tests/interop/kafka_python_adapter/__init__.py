"""kafka-python's package `kafka.protocol` over kwire: what a client of one's own needs beside kwire.

`modules.install` puts it in the place of the original.
"""
