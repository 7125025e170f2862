"""Message specs: `parser` reads the JSON files in `schemas/`, `model` has the classes, `catalog` finds specs by
name.
"""

from .model import FieldSpec, MessageSpec, StructSpec
from .parser import read_spec

__all__ = ["FieldSpec", "MessageSpec", "StructSpec", "read_spec"]
