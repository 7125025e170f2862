"""The module that PySpark discovers: the wheel installs a copy of it as the package `pyspark_kwire`.

PySpark imports every package of such a name in every application that reads any format from Python, and one that raises
hides all the others: this one never does.
"""

from contextlib import suppress

with suppress(Exception):  # without pyarrow, say
    from kwire.spark.source import KwireSource as DefaultSource

__all__ = ["DefaultSource"]
