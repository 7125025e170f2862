"""Reads and writes the JSON of znodes; a value that was read is written back as the same bytes."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ..errors import WrongType, ZnodeError
from .znode_struct import ZnodePosition, ZnodeStruct, members_of, read_node
from .znode_types import node_type


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
    if issubclass(kind, ZnodeStruct):
        return read_node(kind, value, ZnodePosition(path))
    if type(value) is not int:
        raise ZnodeError("a number is needed", znode=path)
    return value


def write_znode(value: ZnodeStruct | int) -> bytes:
    """Encode the data of a node.

    A value that was read becomes the same bytes; a new value is written like in the newest release with its version.

    Raises:
        EncodeError: a member has the wrong type, or does not exist in the value's version.

    >>> from kwire.zookeeper import ControllerZNode
    >>> write_znode(ControllerZNode(brokerid=1, timestamp="1795244004984", version=1))
    b'{"version":1,"brokerid":1,"timestamp":"1795244004984"}'
    """
    plain = members_of(value) if isinstance(value, ZnodeStruct) else value
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
