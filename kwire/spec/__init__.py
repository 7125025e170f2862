"""Kafka's JSON message specs, typed and validated: a spec that exists is valid.

JSON and Kafka's rules for specs are here; bytes and Python classes are in other packages.
Source: the message format of Apache Kafka's generator (`generator/` and `common/message/README.md`).
"""

from .model import FieldSpec, MessageSpec, StructSpec
from .parser import read_spec

__all__ = ["FieldSpec", "MessageSpec", "StructSpec", "read_spec"]
