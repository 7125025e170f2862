"""Columns of bytes in any table: decoded to structs, encoded again; headers and records of frames."""
