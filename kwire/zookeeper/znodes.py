"""Converts values of znodes to and from JSON, byte for byte.

The znodes are brokers, topics, the controller, ids, features, configs and ACLs.

The path of a znode determines its type. Attributes have the names of the JSON in snake case; keys are read in any
order, and unknown keys are kept. `ORDERS` has the order of keys for each JSON version, as captured from the newest
release that writes this version. A value that was read is written back as the same bytes. `client_protocol` decodes
ZooKeeper's client protocol.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Literal, NoReturn, get_args

import msgspec

from ..caches import lazy_pattern
from ..errors import NotInVersion, WrongType, ZnodeError
from .client_protocol import Znode

# msgspec's error text: a problem and a path in the value
_MSGSPEC_ERROR = lazy_pattern(r"(.*?)(?: - at (`key` in )?`\$(.*)`)?", re.DOTALL)
Replicas = dict[int, tuple[int, ...]]
_TOPIC = "/brokers/topics/[^/]+"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node, or an object inside one. A missing field is None.

    `unknown` contains unknown members, and known members that are null. `order` has the original order of the keys if
    it differs from `ORDERS`: other releases wrote the same version in another order.
    """

    ORDERS: ClassVar[dict[Any, str]] = {}
    unknown: dict[str, Any] = {}
    order: tuple[str, ...] = ()


class Place:
    """The current position in a node's JSON; raises errors with this position."""

    def __init__(self, znode: str, json_path: str = "$") -> None:
        self.znode: str = znode
        self.json_path: str = json_path

    def child(self, segment: str) -> Place:
        """Return the position of a part: `.name` or `[0]`."""
        return Place(self.znode, self.json_path + segment)

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error at this position."""
        raise ZnodeError(problem, znode=self.znode, json_path=self.json_path)


def read_node(kind: type[Node], members: Any, place: Place) -> Node:
    """Create a node from a JSON object. Raises ZnodeError."""
    if not isinstance(members, dict):
        place.refuse("an object is needed")
    keys = _keys(kind, members.get("version"))
    values = {info.name: _member(info, members, keys, place) for info in _fields(kind)}
    known = {info.encode_name for info in _fields(kind) if info.required or values[info.name] is not None}
    unknown = {key: member for key, member in members.items() if key not in known}
    usual = dict.fromkeys((*(key for key in keys if key in members), *unknown))
    return kind(**values, unknown=unknown, order=() if tuple(members) == tuple(usual) else tuple(members))


def members_of(node: Node) -> dict[str, Any]:
    """Return a node as a JSON object with its keys in the order for writing. Raises EncodeError."""
    members = dict(node.unknown)
    keys = _keys(type(node), getattr(node, "version", None))
    for info in _fields(type(node)):
        value = getattr(node, info.name)
        if value is None and not info.required:
            continue
        if info.encode_name not in (*keys, *node.order):
            if value == _default(info):
                continue
            _refuse_loss(node, info, value)
        members[info.encode_name] = _plain(node, info, value)
    return {key: members[key] for key in dict.fromkeys((*node.order, *keys, *members)) if key in members}


def _member(info: msgspec.structs.FieldInfo, members: dict[str, Any], keys: list[str], place: Place) -> Any:
    """Return the value of a field; a missing field is None if the version has it, otherwise the default."""
    key, optional = info.encode_name, type(None) in get_args(info.type)
    if members.get(key) is not None:
        return _value(info.type, members[key], place.child(f".{key}"))
    if key in members and not optional:
        place.child(f".{key}").refuse("null is not allowed here")
    if key not in members and (info.required or (key in keys and not optional)):
        place.refuse(f"{key!r} is missing")
    return None if key in keys or key in members else _default(info)


def _value(kind: Any, value: Any, place: Place) -> Any:
    inner = _node_in(kind)
    if inner is not None:
        if not isinstance(value, list):
            place.refuse("an array is needed")
        return tuple(read_node(inner, item, place.child(f"[{index}]")) for index, item in enumerate(value))
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        match = _MSGSPEC_ERROR.fullmatch(str(error))
        assert match is not None
        place.child(match[3] or "").refuse(f"{'in a key, ' if match[2] else ''}{match[1][:1].lower()}{match[1][1:]}")


def _plain(node: Node, info: msgspec.structs.FieldInfo, value: Any) -> Any:
    if _node_in(info.type) is not None:
        return [members_of(item) for item in value]
    try:
        msgspec.convert(value, info.type, str_keys=True)
    except msgspec.ValidationError as error:
        _refuse(WrongType, node, info, need=str(error).partition(",")[0].removeprefix("Expected "), found=repr(value))
    return value


def _refuse_loss(node: Node, info: msgspec.structs.FieldInfo, value: Any) -> NoReturn:
    first = next(version for version, text in node.ORDERS.items() if info.encode_name in text.split())
    _refuse(NotInVersion, node, info, found=repr(value)[:60], first=first)


def _refuse(kind: Any, node: Node, info: msgspec.structs.FieldInfo, **facts: Any) -> NoReturn:
    where = {"message": type(node).__name__, "version": getattr(node, "version", None)}
    raise kind(segments=[info.encode_name], **where, **facts)


def _keys(kind: type[Node], version: Any) -> list[str]:
    """Return the keys of a version, in order; for an unknown version, the keys of the newest version."""
    orders = kind.ORDERS
    known = isinstance(version, int | str | None) and version in orders
    return (orders[version] if known else list(orders.values())[-1]).split()


def _fields(kind: type[Node]) -> Iterator[msgspec.structs.FieldInfo]:
    return (info for info in msgspec.structs.fields(kind) if info.name not in Node.__struct_fields__)


def _default(info: msgspec.structs.FieldInfo) -> Any:
    return info.default_factory() if callable(info.default_factory) else info.default


def _node_in(kind: Any) -> type[Node] | None:
    """Return the node class in a tuple type; None for other types."""
    first = next(iter(get_args(kind)), None)
    return first if isinstance(first, type) and issubclass(first, Node) else None


LOG_DIR_FAILURE: Final = 1
LOG_DIR_RESET: Final = "LogDirReset"  # from an earlier text of KIP-112; no source contains its number


class BrokerRegistration(Node, frozen=True, kw_only=True):
    """`/brokers/ids/ID`: a live broker (KIP-36 for the rack, KIP-103 for the map, KIP-584 for features).

    `host` is None and `port` is -1 if no end point is PLAINTEXT.
    """

    ORDERS = {
        1: "jmx_port timestamp host version port",
        2: "endpoints jmx_port port host version timestamp",
        3: "jmx_port timestamp endpoints host version port rack",
        4: "listener_security_protocol_map endpoints rack jmx_port port host version timestamp",
        5: "features listener_security_protocol_map endpoints rack jmx_port port host version timestamp",
    }
    host: str | None
    port: int
    version: int = 5
    timestamp: str | None = None
    jmx_port: int | None = -1
    endpoints: tuple[str, ...] | None = None
    listener_security_protocol_map: dict[str, str] | None = None
    rack: str | None = None
    features: dict[str, dict[str, int]] | None = None


class TopicState(Node, frozen=True, kw_only=True):
    """`/brokers/topics/TOPIC`: the replicas of each partition (KIP-455: adding, removing; KIP-516: the id)."""

    ORDERS = {
        1: "version partitions",
        2: "version partitions adding_replicas removing_replicas",
        3: "partitions topic_id adding_replicas removing_replicas version",
    }
    partitions: Replicas
    version: int = 3
    topic_id: str | None = None
    adding_replicas: Replicas | None = {}
    removing_replicas: Replicas | None = {}


class PartitionState(Node, frozen=True, kw_only=True):
    """`.../partitions/N/state`: leader and in-sync replicas; the recovery state only if it is 1 (KIP-704)."""

    ORDERS = {1: "controller_epoch leader version leader_recovery_state leader_epoch isr"}
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    version: int = 1
    leader_recovery_state: int | None = None


class ControllerManagedState(Node, frozen=True, kw_only=True):
    """`.../partitions/N/controller_managed_state`, from an earlier text of KIP-112; never released."""

    ORDERS = {1: "version created"}
    created: tuple[int, ...]
    version: int = 1


class Controller(Node, frozen=True, kw_only=True):
    """`/controller`: the broker that is the controller (KIP-866 for the KRaft epoch)."""

    ORDERS = {1: "version brokerid timestamp", 2: "version brokerid timestamp kraftControllerEpoch"}
    brokerid: int
    timestamp: str
    version: int = 2
    kraft_controller_epoch: int | None = msgspec.field(default=None, name="kraftControllerEpoch")


class LogDirEvent(Node, frozen=True, kw_only=True):
    """`/log_dir_event_notification/log_dir_event_N`: a broker lost a log directory (KIP-112).

    `event` is the int 1; the string `LogDirReset` is from an earlier text of the KIP. Kafka's reader uses only
    `broker`.
    """

    ORDERS = {1: "version broker event"}
    broker: int
    event: int | Literal["LogDirReset"] | None = LOG_DIR_FAILURE
    version: int | None = 1


class TopicPartition(Node, frozen=True, kw_only=True):
    """A partition, as an element of lists."""

    ORDERS = {None: "topic partition"}
    topic: str
    partition: int


class AssignedPartition(Node, frozen=True, kw_only=True):
    """A partition and its target replicas."""

    ORDERS = {None: "topic partition replicas"}
    topic: str
    partition: int
    replicas: tuple[int, ...]


class IsrChange(Node, frozen=True, kw_only=True):
    """`/isr_change_notification/isr_change_N`: partitions whose leader changed their in-sync replicas."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[TopicPartition, ...]
    version: int = 1


class PreferredReplicaElection(Node, frozen=True, kw_only=True):
    """`/admin/preferred_replica_election`: partitions whose preferred replica should become the leader."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[TopicPartition, ...]
    version: int = 1


class PartitionReassignment(Node, frozen=True, kw_only=True):
    """`/admin/reassign_partitions`: requested reassignments that are not complete."""

    ORDERS = {1: "version partitions"}
    partitions: tuple[AssignedPartition, ...]
    version: int = 1


class ClusterId(Node, frozen=True, kw_only=True):
    """`/cluster/id` (KIP-78). The version is a string here."""

    ORDERS = {"1": "version id"}
    id: str
    version: str = "1"


class FeatureState(Node, frozen=True, kw_only=True):
    """`/feature`: finalized features; status 0 is disabled, 1 enabled (KIP-584)."""

    ORDERS = {1: "features version status", 2: "features version status"}
    features: dict[str, dict[str, int]]
    status: int
    version: int = 2


class ProducerIdBlock(Node, frozen=True, kw_only=True):
    """`/latest_producer_id_block`: the last allocated block of producer ids and its broker (KIP-98). Bounds are
    strings.
    """

    ORDERS = {1: "version broker block_start block_end"}
    broker: int
    block_start: str
    block_end: str
    version: int = 1


class ConfigEntity(Node, frozen=True, kw_only=True):
    """`/config/topics/TOPIC`, `/config/users/USER/clients/CLIENT` and so on: the overrides of one entity."""

    ORDERS = {1: "version config"}
    config: dict[str, str]
    version: int = 1


class ConfigChange(Node, frozen=True, kw_only=True):
    """`/config/changes/config_change_N`: the entity whose overrides changed (KIP-55)."""

    ORDERS = {1: "version entity_type entity_name", 2: "version entity_path"}
    version: int = 2
    entity_path: str | None = None
    entity_type: str | None = None
    entity_name: str | None = None


class Acl(Node, frozen=True, kw_only=True):
    """One rule of an `AclList`."""

    ORDERS = {None: "principal permissionType host operation"}
    principal: str
    permission_type: str = msgspec.field(name="permissionType")
    host: str
    operation: str


class AclList(Node, frozen=True, kw_only=True):
    """`/kafka-acl/TYPE/NAME`, `/kafka-acl-extended/prefixed/TYPE/NAME`: the rules of a resource (KIP-11, KIP-290)."""

    ORDERS = {1: "acls version"}
    acls: tuple[Acl, ...]
    version: int = 1


class DelegationToken(Node, frozen=True, kw_only=True):
    """`/delegation_token/tokens/ID` (KIP-48; KIP-373 for the requester). Times are numbers here."""

    ORDERS = {3: "issueTimestamp renewers tokenRequester tokenId owner expiryTimestamp maxTimestamp version"}
    token_id: str = msgspec.field(name="tokenId")
    owner: str
    token_requester: str | None = msgspec.field(default=None, name="tokenRequester")
    renewers: tuple[str, ...] = ()
    issue_timestamp: int = msgspec.field(name="issueTimestamp")
    expiry_timestamp: int = msgspec.field(name="expiryTimestamp")
    max_timestamp: int = msgspec.field(name="maxTimestamp")
    version: int = 3


class ConsumerRegistration(Node, frozen=True, kw_only=True):
    """`/consumers/GROUP/ids/ID`: a member of a group of the first, ZooKeeper-based consumer."""

    ORDERS = {1: "version subscription pattern timestamp"}
    subscription: dict[str, int]
    pattern: str
    timestamp: str
    version: int = 1


# path -> the class of its JSON; int means a bare number
PATHS: dict[str, type[Node] | type[int]] = {
    r"/brokers/ids/\d+": BrokerRegistration,
    _TOPIC: TopicState,
    rf"{_TOPIC}/partitions/\d+/state": PartitionState,
    # the text of KIP-112 has /broker/
    r"/brokers?/topics/[^/]+/partitions/\d+/controller_managed_state": ControllerManagedState,
    r"/controller": Controller,
    r"/controller_epoch": int,
    r"/log_dir_event_notification/log_dir_event_-?\d+": LogDirEvent,
    r"/isr_change_notification/isr_change_-?\d+": IsrChange,
    r"/admin/preferred_replica_election": PreferredReplicaElection,
    r"/admin/reassign_partitions": PartitionReassignment,
    r"/cluster/id": ClusterId,
    r"/feature": FeatureState,
    r"/latest_producer_id_block": ProducerIdBlock,
    r"/config/changes/config_change_-?\d+": ConfigChange,
    r"/config/(topics|clients|users|brokers|ips)/.+": ConfigEntity,
    r"/kafka-acl/[^/]+/[^/]+": AclList,
    r"/kafka-acl-extended/[^/]+/[^/]+/[^/]+": AclList,
    r"/delegation_token/tokens/[^/]+": DelegationToken,
    r"/consumers/[^/]+/ids/[^/]+": ConsumerRegistration,
    r"/consumers/[^/]+/offsets/[^/]+/\d+": int,
}


def node_type(path: str) -> type[Node] | type[int] | None:
    """Return the type of a path's data.

    The type is a class or `int`; None for a folder, plain text, or a path that Kafka does not use.

    >>> node_type("/brokers/ids/3"), node_type("/controller_epoch"), node_type("/brokers")
    (<class 'kwire.zookeeper.znodes.BrokerRegistration'>, <class 'int'>, None)
    """
    return next((kind for pattern, kind in PATHS.items() if re.fullmatch(pattern, path)), None)


def read_znode(path: str, data: bytes | str | None) -> Any:
    """Read a node.

    Args:
        path: the path of the node, without the prefix (chroot) that a cluster may have.
        data: the bytes of the node.

    Returns:
        A value of the class that `node_type` returns; None if there is none, or if the node is empty: brokers create
        some nodes empty and fill them in the same transaction.

    Raises:
        ZnodeError: the data does not match the path; the error has the position in the JSON.

    >>> read_znode("/controller", b'{"version":1,"brokerid":2,"timestamp":"1795244004984"}').brokerid
    2
    """
    kind = node_type(path)
    if kind is None or not data:
        return None
    value = _parse(path, data)
    if issubclass(kind, Node):
        return read_node(kind, value, Place(path))
    if type(value) is not int:
        raise ZnodeError("a number is needed", znode=path)
    return value


def znodes_in(text: str) -> list[Znode] | None:
    """Return the znodes in JSON text; None if the text has another form.

    Args:
        text: an object that maps paths to data (strings or null), or one line of JSON per change, with `path` and
            `data`, and if known `op` (`delete` has no data), `version`, `zxid` and `time` (ISO 8601).

    Raises:
        ZnodeError: a line does not describe a change.

    >>> znodes_in('{"/controller_epoch": "7"}')
    [Znode(path='/controller_epoch', data=b'7', version=-1, zxid=-1, time=None, children=None, file='')]
    """
    if not looks_like_znodes(text):
        return None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return [_change(line, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if "path" in whole and isinstance(whole["path"], str):
        return [_change(text, 1)]
    return [Znode(path, _bytes(data)) for path, data in whole.items()]


def looks_like_znodes(head: str) -> bool:
    """Whether text starts like the JSON of znodes."""
    return re.match(r'\s*\{\s*("/[^"]*"\s*:|[^{}]*"path"\s*:\s*"/)', head) is not None


def _change(line: str, number: int) -> Znode:
    try:
        row = json.loads(line)
        path, time = row["path"], row.get("time")
        if not isinstance(path, str):
            raise TypeError("its path is not text")
        seconds = None if time is None else _seconds(time)
        data = None if row.get("op") == "delete" else _bytes(row.get("data"))
        return Znode(path, data, int(row.get("version", 0)), int(row.get("zxid", -1)), seconds)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ZnodeError(f"line {number} is not a change of a znode: {error}", znode="?") from None


def _seconds(time: str) -> float:
    moment = datetime.fromisoformat(time)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _bytes(data: Any) -> bytes:
    if data is None:
        return b""
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()


def write_znode(value: Node | int) -> bytes:
    """Encode the data of a node.

    A value that was read becomes the same bytes; a new value is written like in the newest release with its version.

    Raises:
        EncodeError: a member has the wrong type, or does not exist in the value's version.

    >>> write_znode(Controller(brokerid=1, timestamp="1795244004984", version=1))
    b'{"version":1,"brokerid":1,"timestamp":"1795244004984"}'
    """
    plain = members_of(value) if isinstance(value, Node) else value
    try:
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise WrongType(need="a JSON value", found=str(error), message=type(value).__name__) from None


def _parse(path: str, data: bytes | str) -> Any:
    try:
        text = data if isinstance(data, str) else data.decode()
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise ZnodeError(f"not valid JSON: {error}", znode=path) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(f"a key is repeated among {[name for name, _ in pairs]}")
    return members


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")
