"""What stands in front of a message in a cell and says its version: nothing, size and header, or what there is in front
of records of Kafka's own logs and of a group's protocol.

Knows one value at a time.
"""

from __future__ import annotations

from functools import lru_cache

from ..faults import BadFrame, Truncated, UnknownVersion
from ..frames import LEAST
from ..frames.apis import Api
from ..internal.coordinator_records import OFFSET_COMMIT, RecordType, key_version, log_of, record_types
from ..internal.kraft_records import FRAME_VERSION
from ..spec import MessageSpec
from ..spec.catalog import Catalog
from ..wire import INT16, UNSIGNED_VARINT, Reader

Found = tuple[Api, bytes]  # what a cell holds, and its bytes from where that begins
PROTOCOL = "ConsumerProtocol"  # the version in front may be newer than ours, and is read as ours


class Front:
    """The front of the cells of a column.

    Args:
        spec: the message that they hold.
        catalog: the specs.
        framed: whether size and header are in front.
    """

    def __init__(self, spec: MessageSpec, catalog: Catalog, framed: bool = False) -> None:
        self.spec: MessageSpec = spec
        self.catalog: Catalog = catalog
        self.framed: bool = framed
        self.asked: bool | None = {"request": True, "response": False}.get(spec.type)
        self._api = lru_cache(maxsize=256)(self._make)

    @property
    def tells(self) -> bool:
        """Whether cells say their version themselves."""
        return self.asked is None or (self.framed and self.asked)

    def read(self, data: bytes, version: int | None) -> Found | None:
        """Return what a cell holds; None if it is another message, as a log may have.

        Args:
            data: the cell.
            version: of its message; None if the cell says it.

        Raises:
            DecodeError: it cannot be told.
        """
        if self.framed:
            check_size(data)
        if version is not None:
            return self._api(version), data
        if self.framed:
            return self._framed(data)
        return self._recorded(data) if self.spec.type == "metadata" else self._behind_int16(data)

    def _recorded(self, data: bytes) -> Found | None:
        """Read the front of a record of the metadata log: three varints."""
        reader = Reader(data)
        frame, number = reader.child("frame_version", UNSIGNED_VARINT), reader.child("type", UNSIGNED_VARINT)
        version = reader.child("version", UNSIGNED_VARINT)
        if frame != FRAME_VERSION or self._known(number).value != self.spec.name:
            return None
        return self._api(version), data[reader.pos :]

    def _behind_int16(self, data: bytes) -> Found | None:
        """Read the front of a coordinator's record, or of a message of a group's protocol."""
        reader = Reader(data)
        version = reader.child("version", INT16)
        if self.spec.type == "coordinator-key":
            if not self._is_key(version):
                return None
            version = key_version(self.spec.name, version)
        elif self.spec.name.startswith(PROTOCOL):
            version = min(version, self.spec.versions.last)
        return self._api(version), data[reader.pos :]

    def _framed(self, data: bytes) -> Found | None:
        """Read the front of a request."""
        key, version = (int.from_bytes(data[at : at + 2], "big", signed=True) for at in (4, 6))
        return (self._api(version), data) if key == self.spec.api_key else None

    def _make(self, version: int) -> Api:
        spec = self.spec
        if version not in spec.versions:
            raise UnknownVersion(found=(spec.name, version, str(spec.versions)))
        if self.framed:
            return Api(spec.api_key, version, spec.api_name, self.catalog)
        return Api(None, version, spec.name, self.catalog, message=spec.name, bare=True)

    def _known(self, number: int) -> RecordType:
        log = log_of(self.spec.name, self.spec.type)
        return record_types(self.catalog).get((log, number), RecordType())

    def _is_key(self, number: int) -> bool:
        if self.spec.name == OFFSET_COMMIT.key and number in self.spec.versions:
            return True  # up to Kafka 4.0, its versions are its types
        return self._known(number).key == self.spec.name


def check_size(data: bytes) -> None:
    """Raise if a size field does not say how much follows it."""
    size = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < LEAST + 4 or LEAST <= size > len(data) - 4:
        raise Truncated(offset=0, need=max(size, LEAST) + 4, have=len(data))
    if size != len(data) - 4:
        raise BadFrame(offset=0, found=size, need=LEAST, have=len(data) - 4)
