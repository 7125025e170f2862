"""Fuzz targets: functions of bytes that assert what kwire promises of any input. README.md says how to run them."""
