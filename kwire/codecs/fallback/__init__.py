"""Decodes and encodes by generated Python source, where the native engine was not built."""
