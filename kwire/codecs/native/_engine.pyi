from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .node_table import FieldRow, NodeRow

USES_SLOTS: bool

class Declined(Exception): ...

class NodeTable:
    def __init__(self, nodes: Sequence[NodeRow], fields: Sequence[FieldRow]) -> None: ...
    def decode(self, data: bytes) -> Any: ...
    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]: ...
    def decode_many(self, data: bytes, start: int, count: int) -> tuple[list[Any], int]: ...
    def skip_from(self, data: bytes, start: int) -> int: ...
    def encode(self, message: Any) -> bytes: ...
    def json(self, data: bytes, start: int = 0) -> bytes: ...

class NativeMethods: ...  # `decode`, `encode` and `json_text` of a codec

class Memory:
    def __buffer__(self, flags: int) -> memoryview: ...

class ColumnTable:
    rows: int
    def __init__(
        self,
        table: NodeTable,
        columns: list[tuple[str, int, bool, int, int]],
        actions: list[int],
        unknown: list[int],
        elements: int,
        levels: int,
    ) -> None: ...
    def feed(self, bodies: list[bytes], numbers: list[int], start: int) -> int: ...
    def feed_message(self, message: Any, number: int) -> None: ...
    def take(self) -> tuple[int, list[Memory], list[tuple[int, Memory | None, Memory | None, Memory]]]: ...

class Repeat:
    def __init__(self, level: Memory, start: int, stop: int) -> None: ...
    def fixed(self, values: Memory, width: int) -> Memory: ...
    def binary(self, offsets: Memory, values: Memory) -> tuple[Memory, Memory]: ...
    def size(self, offsets: Memory) -> int: ...
    def index(self) -> Memory: ...

def pack_bits(values: Memory) -> Memory: ...
def use_slots(wanted: bool) -> None: ...

class FrameBuffer:
    limit: int
    least: int
    missing: int
    passed: int
    _count: int
    _start: int
    _buffer: bytearray
    def __init__(self, limit: int = ..., least: int = ...) -> None: ...

class ConnectionState:
    number: int
    newest: int
    packets: int
    key: bytes
    halves: Any
    opener: int | None
    calm: bool
    closed: bool
    last: int | None
    unseen: tuple[int, int]
    def __init__(self, number: int, key: bytes, half: Any = ...) -> None: ...
    def release(self) -> None: ...

class StreamState:
    sequence: int | None
    position: int
    held: int
    sent: int
    first: int | None
    acked: int | None
    excused: int | None
    end: int | None
    pieces: list[Any]
    begun: bool
    late: bool
    finished: bool
    opened: bool
    side: int
    peer: Any
    connection: Any
    def __init__(self, side: int) -> None: ...

class ReassemblerState:
    count: int
    packets: int
    read: int
    known: dict[bytes, Any]
    open: dict[int, Any]
    stuck: dict[int, Any]
    closing: dict[int, tuple[Any, int | None, int]]
    def add(self, key: bytes) -> Any: ...

class EndsState:
    connection: int
    key: bytes
    side: int
    texts: Any
    note: Any
    def __init__(self, connection: int, key: bytes, side: int) -> None: ...

class FrameBatch:
    def append(self, captured: Any) -> None: ...
    def __iadd__(self, several: Iterable[Any]) -> FrameBatch: ...
    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def others(self) -> list[Any]: ...
    def lines(
        self, writer: Any, start: int, number: int, most: int
    ) -> tuple[int, int, str, KeyboardInterrupt | None]: ...
    def add_rows(self, pairing: Any, connections: dict[Any, Any], rows: FrameRows) -> None: ...
    def count_frames(self, counter: Any) -> tuple[int, int, list[FrameCount]]: ...
    def tally(
        self, tally: Any, number: int, width: float
    ) -> tuple[int, list[Any], dict[Any, int], tuple[dict[int, int], dict[int, int]]]: ...

Fixed = tuple[Memory | None, Memory]

class FrameRows:
    keeps_bytes: bool
    size: int
    def __init__(self, keeps_bytes: bool = True) -> None: ...
    def __call__(self, row: Any) -> None: ...
    def append(self, row: Any) -> None: ...
    def __iadd__(self, several: Iterable[Any]) -> FrameRows: ...
    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def clear(self) -> None: ...
    def take(self, start: int = 0) -> FrameRows: ...
    def parts(self, most_rows: int, most_bytes: int) -> list[tuple[int, FrameRows]]: ...
    def faults(self) -> dict[int, Any]: ...
    def offsets(self) -> Fixed | list[Any]: ...
    def sizes(self) -> Fixed | list[Any]: ...
    def times(self, convert: Any) -> Fixed | list[Any]: ...
    def directions(self) -> Fixed | list[Any]: ...
    def correlation_ids(self) -> Fixed | list[Any]: ...
    def calls(self) -> tuple[list[Any], Fixed | list[Any]]: ...
    def ends(self) -> tuple[list[Any], Fixed | list[Any]]: ...

NO_CALLS: dict[Any, Any]

class InFlight:
    def append(self, header: Any) -> None: ...
    def popleft(self) -> Any: ...
    def __getitem__(self, at: int) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class CallState:
    api: Any
    version: int
    client: bytes
    client_id: str | None
    answered: tuple[bytes, ...]
    start: int
    is_plain: bool
    refused: bytes
    is_answered: bool
    note: Any
    _downgraded: Any

class PairingState:
    apis: Any
    answers: Any
    group: Any
    mechanism: Any
    authenticating: bool
    expects_tokens: bool
    lossy: bool
    tokens: int
    in_flight: Any  # a sequence of `Header`s: `InFlight`, or a deque
    _doubt: Any
    call: Any
    note: Any
    _ids: Any
    _calls: dict[int, Any]
    _known: dict[int, Any]
    _client: bytes

class BodyFacts:
    def __init__(self, table: NodeTable, marks: dict[Any, str], guarded: frozenset[str | bytes] = ...) -> None: ...
    def of(self, body: bytes) -> tuple[bool, int, list[tuple[bytes | None, str | None]]] | None: ...

class KindState:
    call: Any
    codec: Any
    is_request: bool
    tagged: bool
    front: bytes
    back: bytes
    table: NodeTable | None
    facts: BodyFacts | None
    count: int
    size: int
    times: list[float]
    order: tuple[bytes, bytes]

class FrameCount:
    owner: Any
    requests: int
    responses: int
    request_bytes: int
    response_bytes: int
    answered: int
    time: int
    longest: int
    def __init__(self, owner: Any) -> None: ...
    def clear(self) -> None: ...

class ConversationState:
    recogniser: Any
    connection: Any
    client: int
    ends: Any
    readers: tuple[Any, Any]
    general: Any
    tokens: bool
    client_id: bytes | None
    newest: int | None
    answered: int | None
    @property
    def awaited(self) -> int: ...
    @property
    def apis(self) -> list[bytes]: ...
    def __init__(self, recogniser: Any, connection: Any, client: int, head: bytes = ...) -> None: ...
    def cut_in_order(self) -> None: ...
    def expected(self, most: int) -> list[tuple[int, int | None]]: ...
    def expect(self, api: int, correlation_id: int | None) -> None: ...
    def settle(self, count: int) -> None: ...
    def add_api(self, api: int) -> None: ...

SOURCES: int

class PacketLayouts:
    lacks_bytes: bool
    def describe(self, big: bool, links: list[tuple[int, int, int, int] | None]) -> None: ...

class PacketGroups(PacketLayouts):
    count: int
    end: int
    seconds: int
    def __init__(self, near: int, blocks: bool) -> None: ...
    def read(
        self, data: bytes, start: int, stop: int, before: int | None, other: Callable[[bytes, int, int], bytes | None]
    ) -> int: ...
    def times(self) -> bytes: ...
    def take(self, times: bytes, passed: int) -> list[tuple[bytes, int, int, bytes, bytes, bytes]]: ...

class PacketWalker(PacketLayouts):
    seconds: int | None
    def __init__(
        self,
        state: ReassemblerState,
        streams: Any,
        segment: Any,
        is_other: Any,
        most: int,
        linger: tuple[int, int, int],
        near: int,
        stray: int,
        blocks: bool,
    ) -> None: ...
    def run(self, data: bytes, start: int, out: FrameBatch) -> int: ...

def path_counts() -> dict[str, tuple[int, int]]: ...
def records_are_whole(data: bytes, start: int, count: int) -> bool: ...
