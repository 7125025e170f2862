"""The readers of a Python worker, shared by its tasks."""

from __future__ import annotations

import gc
from functools import lru_cache
from typing import Any

from ..arrow.batch_reader import BatchReader
from ..arrow.read_options import Options


@lru_cache(maxsize=4)
def reading_of(options: Options, schema: Any) -> BatchReader:
    """Return a read with a schema, or with the options' columns if it is None; tasks of a worker share it.

    Building the trees of all versions is expensive. Workers run garbage collection after every task; freezing exempts
    the existing objects.
    """
    default = BatchReader(options)
    reading = default if schema is None or default.schema.equals(schema) else BatchReader(options, schema)
    gc.freeze()
    return reading
