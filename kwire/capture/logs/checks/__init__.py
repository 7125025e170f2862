"""Compares the files beside the segments with the batches of the log, and batches with rebuilt ones."""
