"""Which paths an input has: frames have other properties and fields than records of a log."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import KwireError
from ..schema.catalog import Catalog
from ..schema.spec_layers import WIRE_TYPES
from .field_path import FieldPath
from .known_fields import fields_at
from .record_properties import DISK_FIELDS, RECORD_PROPERTIES

FRAMES_HAVE = "api, topic, group, client_id, latency and more"
RECORDS_HAVE = "offset, key, value, header, timestamp, producer_id and more"


class NotAvailable(KwireError):
    """A path, or an option that stands for one, which the items of an input do not have.

    Attributes:
        names: the paths and options.
        of_records: whether the items are records of a log; otherwise they are frames.
    """

    def __init__(self, names: Iterable[str] = (), of_records: bool = False) -> None:
        self.names: tuple[str, ...] = tuple(names)
        self.of_records: bool = of_records

    def __str__(self) -> str:
        items, others = ("records of a log", RECORDS_HAVE) if self.of_records else ("frames", FRAMES_HAVE)
        return f"{', '.join(self.names)}: not available for {items}, which have {others}; see kwire help filters"


def check_available(paths: Iterable[FieldPath], catalog: Catalog, *, of_records: bool) -> None:
    """Raise NotAvailable if the frames, or the records, of an input cannot have one of the paths."""
    is_known = _records_have if of_records else _frames_have
    missing = dict.fromkeys(path.text for path in paths if not is_known(path, catalog))
    if missing:
        raise NotAvailable(missing, of_records)


def _frames_have(path: FieldPath, catalog: Catalog) -> bool:
    return path.property is not None or _is_field(path, catalog, of_wire=True)


def _records_have(path: FieldPath, catalog: Catalog) -> bool:
    if path.part or path.name in RECORD_PROPERTIES or path.name in DISK_FIELDS:
        return True
    return path.property is None and _is_field(path, catalog, of_wire=False)


def _is_field(path: FieldPath, catalog: Catalog, *, of_wire: bool) -> bool:
    return any((spec.type in WIRE_TYPES) == of_wire for spec, _ in fields_at(path, catalog))
