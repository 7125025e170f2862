"""Reads a znode's path and data to a value, and writes it back."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, NoReturn

from ..errors import WrongType, ZnodeError
from . import znode_values
from .client_protocol import Znode
from .znode_values import Node, Place, members_of, read_node

_TOPIC = "/brokers/topics/[^/]+"
# path -> what its JSON is; int is a bare number
PATHS: dict[str, type[Node] | type[int]] = {
    r"/brokers/ids/\d+": znode_values.BrokerRegistration,
    _TOPIC: znode_values.TopicState,
    rf"{_TOPIC}/partitions/\d+/state": znode_values.PartitionState,
    # KIP-112's text has /broker/
    r"/brokers?/topics/[^/]+/partitions/\d+/controller_managed_state": znode_values.ControllerManagedState,
    r"/controller": znode_values.Controller,
    r"/controller_epoch": int,
    r"/log_dir_event_notification/log_dir_event_-?\d+": znode_values.LogDirEvent,
    r"/isr_change_notification/isr_change_-?\d+": znode_values.IsrChange,
    r"/admin/preferred_replica_election": znode_values.PreferredReplicaElection,
    r"/admin/reassign_partitions": znode_values.PartitionReassignment,
    r"/cluster/id": znode_values.ClusterId,
    r"/feature": znode_values.FeatureState,
    r"/latest_producer_id_block": znode_values.ProducerIdBlock,
    r"/config/changes/config_change_-?\d+": znode_values.ConfigChange,
    r"/config/(topics|clients|users|brokers|ips)/.+": znode_values.ConfigEntity,
    r"/kafka-acl/[^/]+/[^/]+": znode_values.AclList,
    r"/kafka-acl-extended/[^/]+/[^/]+/[^/]+": znode_values.AclList,
    r"/delegation_token/tokens/[^/]+": znode_values.DelegationToken,
    r"/consumers/[^/]+/ids/[^/]+": znode_values.ConsumerRegistration,
    r"/consumers/[^/]+/offsets/[^/]+/\d+": int,
}


def node_type(path: str) -> type[Node] | type[int] | None:
    """Return the type of a path's data: a class, `int`, or None for a folder, plain text, or a path that is not
    Kafka's.

    >>> node_type("/brokers/ids/3"), node_type("/controller_epoch"), node_type("/brokers")
    (<class 'kwire.zookeeper.znode_values.BrokerRegistration'>, <class 'int'>, None)
    """
    return next((kind for pattern, kind in PATHS.items() if re.fullmatch(pattern, path)), None)


def read_znode(path: str, data: bytes | str | None) -> Any:
    """Read a node.

    Args:
        path: of the node, without a prefix (chroot) that the cluster may have.
        data: its bytes.

    Returns:
        A value of the class that `node_type` returns; None if that is None, or the node is empty: brokers create some
        nodes empty and fill them in the same transaction.

    Raises:
        ZnodeError: the data does not match the path; with the path in the JSON.

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
        text: an object that maps paths to data (text, or null), or a line of JSON for each change, with `path` and
            `data`, and if known `op` (`delete` has no data), `version`, `zxid` and `time` (ISO 8601).

    Raises:
        ZnodeError: a line is not such a change.

    >>> znodes_in('{"/controller_epoch": "7"}')
    [Znode(path='/controller_epoch', data=b'7', version=-1, zxid=-1, time=None, children=None, file='')]
    """
    if not looks_like_znodes(text):
        return None
    try:
        whole = json.loads(text)
    except ValueError:
        return [_change(line, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if "path" in whole and isinstance(whole["path"], str):
        return [_change(text, 1)]
    return [Znode(path, _bytes(data)) for path, data in whole.items()]


def looks_like_znodes(head: str) -> bool:
    """Whether text begins as the JSON of znodes does."""
    return re.match(r'\s*\{\s*("/[^"]*"\s*:|[^{}]*"path"\s*:\s*"/)', head) is not None


def _change(line: str, number: int) -> Znode:
    try:
        row = json.loads(line)
        path, time = row["path"], row.get("time")
        seconds = None if time is None else _seconds(time)
        data = None if row.get("op") == "delete" else _bytes(row.get("data"))
        return Znode(path, data, int(row.get("version", 0)), int(row.get("zxid", -1)), seconds)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ZnodeError(f"line {number} is no change of a znode: {error}", znode="?") from None


def _seconds(time: str) -> float:
    moment = datetime.fromisoformat(time)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _bytes(data: Any) -> bytes:
    if data is None:
        return b""
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()


def write_znode(value: Node | int) -> bytes:
    """Write a node's data: a value that was read as the same bytes, a new value as the newest release of its version
    writes it.

    Raises:
        EncodeError: a member has the wrong type, or does not exist in the value's version.

    >>> write_znode(znode_values.Controller(brokerid=1, timestamp="1795244004984", version=1))
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
        raise ZnodeError(f"this is no JSON: {error}", znode=path) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(f"a key is repeated among {[name for name, _ in pairs]}")
    return members


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no value")
