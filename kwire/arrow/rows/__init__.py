"""One row per frame: columns, faults, the column `message`, and batches of rows."""
