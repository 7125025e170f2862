"""A second, independent reader of the KIP profiles' messages, written from the byte layouts alone."""

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class F:
    """A field: kind is int8, int16, int32, bool, string, string?, [int32], [string], [] (of structs),
    c[int32] and c[] (the same with a compact count), or tags (a block that must be empty)."""

    name: str
    kind: str
    fields: tuple["F", ...] = ()


@dataclass(frozen=True)
class Layout:
    header: tuple[F, ...] | None  # None: the message has no frame
    body: tuple[F, ...]
    api_key: int | None = None  # of requests


def fs(text: str) -> tuple[F, ...]:
    """'id:int32 host:string' as fields."""
    return tuple(F(name, kind) for name, kind in (item.split(":") for item in text.split()))


TAGS = fs("tagged_fields:tags")
REQUEST_1 = fs("request_api_key:int16 request_api_version:int16 correlation_id:int32 client_id:string?")
REQUEST_2 = REQUEST_1 + TAGS
RESPONSE_0 = fs("correlation_id:int32")
RESPONSE_1 = RESPONSE_0 + TAGS

# KIP-36: host before port in the response, port before host in a broker's end points
END_POINTS = F("end_points", "[]", fs("port:int32 host:string protocol_id:int16"))
BROKER_END_POINT = fs("broker_id:int32 host:string port:int32 rack:string?")
PARTITION_META_DATA = fs("error_code:int16 partition_id:int32 leader:int32 replicas:[int32] isr:[int32]")
TOPIC_META_DATA = (*fs("error_code:int16 topic:string"), F("partitions_meta_data", "[]", PARTITION_META_DATA))
TOPIC_METADATA_RESPONSE = (
    F("correlation_id", "int32"),
    F("broker_end_points", "[]", BROKER_END_POINT),
    F("topics_meta_data", "[]", TOPIC_META_DATA),
)

# KIP-112: is_new_replica and offline_replicas are last in their structs
PARTITION = "topic_name:string partition_index:int32 controller_epoch:int32 leader:int32 leader_epoch:int32 "
LEADER_AND_ISR = (
    *fs("controller_id:int32 controller_epoch:int32"),
    F(
        "ungrouped_partition_states",
        "[]",
        fs(PARTITION + "isr:[int32] partition_epoch:int32 replicas:[int32] is_new_replica:bool"),
    ),
    F("live_leaders", "[]", fs("broker_id:int32 host_name:string port:int32")),
)
LISTENERS = fs("port:int32 host:string listener:string security_protocol:int16")
UPDATE_METADATA = (
    *fs("controller_id:int32 controller_epoch:int32"),
    F(
        "ungrouped_partition_states",
        "[]",
        fs(PARTITION + "isr:[int32] zk_version:int32 replicas:[int32] offline_replicas:[int32]"),
    ),
    F("live_brokers", "[]", (F("id", "int32"), F("endpoints", "[]", LISTENERS), F("rack", "string?"))),
)
METADATA_PARTITION = fs(
    "error_code:int16 partition_index:int32 leader_id:int32 "
    "replica_nodes:[int32] isr_nodes:[int32] offline_replicas:[int32]"
)
METADATA_RESPONSE = (
    F("brokers", "[]", fs("node_id:int32 host:string port:int32 rack:string?")),
    *fs("cluster_id:string? controller_id:int32"),
    F(
        "topics",
        "[]",
        (*fs("error_code:int16 name:string is_internal:bool"), F("partitions", "[]", METADATA_PARTITION)),
    ),
)

# KIP-879: flexible from version 0 on
CREATE_REQUEST = (
    fs("num_partitions:int32 replication_factor:int16 force_simple_assignment:bool node_id:c[int32] timeout_ms:int32")
    + TAGS
)
ASSIGNMENT = fs("partition_id:int32 replicas:c[int32]") + TAGS

LAYOUTS = {
    ("KIP-36", "TopicMetadataRequest", 1): Layout(REQUEST_1, fs("topics:[string]"), 3),
    ("KIP-36", "TopicMetadataResponse", 1): Layout((), TOPIC_METADATA_RESPONSE),
    ("KIP-36", "Broker", 0): Layout(None, fs("id:int32 host:string port:int32")),
    ("KIP-36", "Broker", 1): Layout(None, (F("id", "int32"), END_POINTS)),
    ("KIP-36", "Broker", 2): Layout(None, (F("id", "int32"), END_POINTS, F("rack", "string?"))),
    ("KIP-112", "LeaderAndIsrRequest", 1): Layout(REQUEST_1, LEADER_AND_ISR, 4),
    ("KIP-112", "UpdateMetadataRequest", 4): Layout(REQUEST_1, UPDATE_METADATA, 6),
    ("KIP-112", "MetadataResponse", 3): Layout(RESPONSE_0, METADATA_RESPONSE),
    ("KIP-879", "CreateReplicaAssignmentRequest", 0): Layout(REQUEST_2, CREATE_REQUEST, 68),
    ("KIP-879", "CreateReplicaAssignmentResponse", 0): Layout(
        RESPONSE_1, (F("replica_assignment", "c[]", ASSIGNMENT), *TAGS)
    ),
}


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, length: int) -> bytes:
        if length < 0 or length > len(self.data) - self.at:
            raise ValueError(f"{length} bytes wanted at {self.at}, {len(self.data) - self.at} left")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self, code: str) -> int:
        return int(struct.unpack(">" + code, self.take(struct.calcsize(">" + code)))[0])

    def varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError(f"unsigned varint too long before {self.at}")

    def string(self, nullable: bool) -> str | None:
        length = self.number("h")
        if length == -1 and nullable:
            return None
        return self.take(length).decode("utf-8")

    def value(self, field: F) -> object:
        kind = field.kind
        if kind in ("int8", "int16", "int32"):
            return self.number({"int8": "b", "int16": "h", "int32": "i"}[kind])
        if kind == "bool":
            byte = self.number("b")
            if byte not in (0, 1):
                raise ValueError(f"{field.name}: {byte} is no bool")
            return byte == 1
        if kind in ("string", "string?"):
            return self.string(kind == "string?")
        count = self.varint() - 1 if kind.startswith("c[") else self.number("i")
        if count < 0:
            raise ValueError(f"{field.name}: count {count}")
        if field.fields:
            return [self.struct(field.fields) for _ in range(count)]
        element = F(field.name, kind[kind.index("[") + 1 : -1])
        return [self.value(element) for _ in range(count)]

    def struct(self, fields: tuple[F, ...]) -> dict[str, object]:
        result: dict[str, object] = {}
        for field in fields:
            if field.kind != "tags":
                result[field.name] = self.value(field)
            elif self.varint() != 0:
                raise ValueError(f"tagged fields before {self.at}")
        return result


def read(name: str, version: int, profile: str, framing: str, data: bytes) -> dict[str, object]:
    """The message in data; framing is "frame" (size, header, body) or "body"."""
    layout = LAYOUTS.get((profile, name, version))
    if layout is None or framing not in ("frame", "body") or (framing == "frame" and layout.header is None):
        raise ValueError(f"no layout for {name} v{version} {framing} in {profile}")
    reader = Reader(data)
    result: dict[str, object] = {}
    if framing == "frame" and layout.header is not None:
        result["size"] = size = reader.number("i")
        if size != len(data) - 4:
            raise ValueError(f"size {size}, but {len(data) - 4} bytes follow")
        result["header"] = header = reader.struct(layout.header)
        if layout.api_key is not None and (
            (header["request_api_key"], header["request_api_version"]) != (layout.api_key, version)
        ):
            raise ValueError(f"header of another message: {header}")
        result["body"] = reader.struct(layout.body)
    else:
        result = reader.struct(layout.body)
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at} bytes left over")
    return result
