"""The module that PySpark discovers: the wheel installs it as the package `pyspark_kwire`.

PySpark imports every package with such a name in every application that uses a Python data source, and one package that
raises an error disables all others. Therefore this one never raises an error.
"""

from contextlib import suppress

with suppress(Exception):  # pyarrow may be missing
    from kwire.spark.data_source import KwireSource as DefaultSource

__all__ = ["DefaultSource"]
