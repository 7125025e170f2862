"""Names for numbers: error codes, ACL operations, sentinels such as LATEST, and which field holds which kind.

A value is an int that prints its name; a number without a name stays a number. The tables are in `schemas/values.json`,
which is read on first use: each kind is created then, and is an attribute of `kwire.values`.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Self, cast

from ..caches import once
from ..errors import UnknownMessage
from ..resources import SCHEMAS


class Value(IntEnum):
    """A number of the protocol. `name` is None where none is known; `str` is the name, or the number.

    A kind takes a number, a name in any case, or a former name:

    >>> from kwire.values import ErrorCode
    >>> ErrorCode(6), ErrorCode("not_leader_for_partition"), ErrorCode(5120)
    (<ErrorCode 6 NOT_LEADER_OR_FOLLOWER>, <ErrorCode 6 NOT_LEADER_OR_FOLLOWER>, <ErrorCode 5120>)
    >>> print(ErrorCode(56), ErrorCode(5120), ErrorCode(56) == 56)
    KAFKA_STORAGE_ERROR 5120 True
    """

    if TYPE_CHECKING:

        def __new__(cls, value: int | str) -> Self:  # noqa: D102 (what `_missing_` takes too)
            ...

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if isinstance(value, str):
            return cls._named(value)
        return cls._nameless(value) if isinstance(value, int) else None

    @classmethod
    def _named(cls, text: str) -> Value:
        folded = {name.casefold(): member for name, member in cls.__members__.items()}
        if text.casefold() in folded:
            return folded[text.casefold()]
        try:
            return cls(int(text))
        except ValueError:
            raise UnknownMessage(cls.__name__, text, list(cls.__members__)) from None

    @classmethod
    def _nameless(cls, value: int) -> Value:
        member = int.__new__(cls, value)
        member._value_, member._name_ = int(value), cast(str, cls._text(value))
        return member

    @classmethod
    def _text(cls, value: int) -> str | None:
        return None

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        # by value: Python up to 3.11.3 pickles by name, which not every number has
        return type(self), (self.value,)

    def __str__(self) -> str:
        return self.name or str(self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.value}{f' {self.name}' if self.name else ''}>"


class ErrorCodeBase(Value):
    """Error codes, with their meaning and the action to take."""

    @property
    def about(self) -> str:
        """The meaning of the code and the action to take, in one sentence; empty for an unknown one."""
        return str(self._row.get("about", ""))

    @property
    def retriable(self) -> bool | None:
        """Whether Kafka's own clients try again; None for an unknown code."""
        return self._row.get("retriable")

    @property
    def since(self) -> str | None:
        """The first release that has the code, from 0.8.2.2 on; None for an unknown code."""
        return self._row.get("since")

    @property
    def _row(self) -> dict[str, Any]:
        row: dict[str, Any] = _tables()["kinds"]["ErrorCode"].get(str(self.value), {})
        return row


class AuthorizedOperationsBase(Value):
    """A set of ACL operations, bit n for the operation of code n (KIP-430)."""

    @classmethod
    def _text(cls, value: int) -> str | None:
        operation = kind("AclOperation")
        return "|".join(str(operation(bit)) for bit in range(32) if value >> bit & 1) or None


_BASES: dict[str, type[Value]] = {"ErrorCode": ErrorCodeBase, "AuthorizedOperations": AuthorizedOperationsBase}


def kinds() -> tuple[str, ...]:
    """Return the names of all kinds of values.

    >>> "IsolationLevel" in kinds()
    True
    """
    return tuple(_tables()["kinds"])


@once
def kind(name: str) -> type[Value]:
    """Return a kind of values: a class, which takes a number or a name.

    Args:
        name: one of `kinds()`.

    Raises:
        UnknownMessage: there is no such kind.

    >>> kind("OffsetSpec")(-2)
    <OffsetSpec -2 EARLIEST>
    """
    rows = _tables()["kinds"].get(name)
    if rows is None:
        raise UnknownMessage("kind of values", name, kinds())
    members: dict[str, int] = {}
    for number, row in rows.items():
        row = {"name": row} if isinstance(row, str) else row
        members.update(dict.fromkeys([row["name"], *row.get("also", ())], int(number)))
    make: Any = _BASES.get(name, Value)  # a class of members, which makes one more such class
    made: type[Value] = make(name, members, module=__package__)
    return made


def kind_of(message: str, struct: str, field: str) -> type[Value] | None:
    """Return what kind of value a field of integers holds (for an array, each of its elements).

    Args:
        message: the message, such as `FetchRequest`.
        struct: the struct inside it that has the field; the message again for its own fields.
        field: the field's name in JSON.

    Returns:
        A kind, or None where a number is nothing but a number.

    >>> kind_of("FetchResponse", "PartitionData", "errorCode")(3)
    <ErrorCode 3 UNKNOWN_TOPIC_OR_PARTITION>
    >>> kind_of("ListOffsetsRequest", "ListOffsetsPartition", "timestamp")(-1)
    <OffsetSpec -1 LATEST>
    >>> kind_of("FetchRequest", "FetchRequest", "maxWaitMs")
    """
    fields: dict[str, str] = _tables()["fields"]
    for key in (f"{struct}.{field}", f"{message}.{field}", field):
        if key in fields:
            return kind(fields[key])
    suffixes = (name for name in fields if name[0] == "*" and field.endswith(name[1:]))
    found = next(suffixes, None)
    return kind(fields[found]) if found else None


def words(name: str) -> tuple[str, ...]:
    """Return the words that text fields hold: `GroupState`, `GroupType`, `TransactionState`.

    Raises UnknownMessage if there is no such list.

    >>> words("GroupType")
    ('Unknown', 'Consumer', 'Classic', 'Share', 'Streams')
    """
    lists: dict[str, list[str]] = _tables()["words"]
    if name not in lists:
        raise UnknownMessage("list of words", name, list(lists))
    return tuple(lists[name])


@once
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads((SCHEMAS / "values.json").read_bytes())
    return tables
