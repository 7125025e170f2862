"""Message specs: the JSON files of `schemas/` in `parser`, their values in `model`, all of them in `catalog`."""

from .model import FieldSpec, MessageSpec, StructSpec
from .parser import read_spec

__all__ = ["FieldSpec", "MessageSpec", "StructSpec", "read_spec"]
