"""The prefix of a cell, which has the version of its message: a frame's header, or that of a record in a log."""

from __future__ import annotations

from functools import lru_cache

from ...codecs.wire import INT16, Reader
from ...errors import BadFrame, Truncated, UnknownVersion
from ...protocol import LEAST
from ...protocol.frames.size_faults import bytes_after_frame
from ...protocol.headers.apis import Api
from ...protocol.nested.coordinator_records import OFFSET_COMMIT, key_version
from ...protocol.nested.metadata_log_records import FRAME_VERSION, read_frame_head
from ...protocol.nested.topic_record_types import RecordType, log_of, record_types
from ...schema.catalog import Catalog
from ...schema.message_spec import MessageSpec

CellContent = tuple[Api, bytes]  # api of a cell, and its bytes from the body on
PROTOCOL = "ConsumerProtocol"  # a newer version than the newest known one is decoded as the newest


class CellPrefix:
    """The prefix of the cells of a column.

    Args:
        spec: the message in the cells.
        catalog: the specs.
        framed: whether cells include size and header.
    """

    def __init__(self, spec: MessageSpec, catalog: Catalog, framed: bool = False) -> None:
        self.spec: MessageSpec = spec
        self.catalog: Catalog = catalog
        self.framed: bool = framed
        self.asked: bool | None = {"request": True, "response": False}.get(spec.type)
        self._api = lru_cache(maxsize=256)(self._make)

    @property
    def has_version(self) -> bool:
        """Whether cells contain their version."""
        return self.asked is None or (self.framed and self.asked)

    def read(self, data: bytes, version: int | None) -> CellContent | None:
        """Return the content of a cell; None if it is another message, as logs may contain.

        Args:
            data: the cell.
            version: the version of the message; None if the cell contains it.

        Raises:
            DecodeError: the version is missing or invalid.
        """
        if self.framed:
            check_size(data)
        if version is not None:
            return self._api(version), data
        if self.framed:
            return self._parse_frame(data)
        return self._parse_record(data) if self.spec.type == "metadata" else self._behind_int16(data)

    def _parse_record(self, data: bytes) -> CellContent | None:
        """Parse the prefix of a record of the metadata log: three varints."""
        reader = Reader(data)
        frame_version, number, version = read_frame_head(reader)
        if frame_version != FRAME_VERSION or self._record_type(number).value != self.spec.name:
            return None
        return self._api(version), data[reader.pos :]

    def _behind_int16(self, data: bytes) -> CellContent | None:
        """Parse the int16 prefix of a coordinator's record, or of a message of the consumer protocol."""
        reader = Reader(data)
        version = reader.child("version", INT16)
        if self.spec.type == "coordinator-key":
            if not self._is_key(version):
                return None
            version = key_version(self.spec.name, version)
        elif self.spec.name.startswith(PROTOCOL):
            version = min(version, self.spec.versions.last)
        return self._api(version), data[reader.pos :]

    def _parse_frame(self, data: bytes) -> CellContent | None:
        """Parse the header of a request."""
        key, version = (int.from_bytes(data[at : at + 2], "big", signed=True) for at in (4, 6))
        return (self._api(version), data) if key == self.spec.api_key else None

    def _make(self, version: int) -> Api:
        spec = self.spec
        if version not in spec.versions:
            raise UnknownVersion(found=(spec.name, version, str(spec.versions)))
        if self.framed:
            return Api(spec.api_key, version, spec.api_name, self.catalog)
        return Api(None, version, spec.name, self.catalog, message=spec.name, bare=True)

    def _record_type(self, number: int) -> RecordType:
        log = log_of(self.spec.name, self.spec.type)
        return record_types(self.catalog).get((log, number), RecordType())

    def _is_key(self, number: int) -> bool:
        if self.spec.name == OFFSET_COMMIT.key and number in self.spec.versions:
            return True  # up to Kafka 4.0, each version of this schema is a separate type
        return self._record_type(number).key == self.spec.name


def check_size(data: bytes) -> None:
    """Raise an error if the size field does not match the length of the data."""
    size = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < LEAST + 4 or LEAST <= size > len(data) - 4:
        raise Truncated(offset=0, need=max(size, LEAST) + 4, have=len(data))
    if size < LEAST:
        raise BadFrame(offset=0, found=size, need=LEAST, have=len(data) - 4)
    if size != len(data) - 4:
        raise bytes_after_frame(data)
