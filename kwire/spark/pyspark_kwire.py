"""The module that PySpark discovers: the wheel installs it as the package `pyspark_kwire`.

PySpark imports every package with such a name in every application that uses a Python data source, and one that
raises an error disables all others: this one never does.
"""

from contextlib import suppress

with suppress(Exception):  # pyarrow may be missing
    from kwire.spark.data_source import KwireSource as DefaultSource

__all__ = ["DefaultSource"]
