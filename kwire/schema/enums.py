"""Names for numbers: error codes, ACL operations, sentinels such as LATEST; and the kind of each field.

A value is an int that prints as its name; a number without a name stays a number. The tables are in
`schemas/values.json`, which is read on first use; then each kind is created as an attribute of `kwire.values`.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Self, cast

from ..errors import UnknownMessage
from ..runtime.caches import once
from .data_files import SCHEMAS


class Value(IntEnum):
    """A number of the protocol. `name` is None if none is known; `str` returns the name, or the number.

    A kind can be called with a number, a name in any case, or a former name:

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
            return cls._parse_name(value)
        return cls._nameless(value) if isinstance(value, int) else None

    @classmethod
    def _parse_name(cls, text: str) -> Value:
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
        member._value_ = int(value)
        member._name_ = cast(str, cls._text(value))
        return member

    @classmethod
    def _text(cls, value: int) -> str | None:
        return None

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        # by value: Python up to 3.11.3 pickles by name, but not every number has one
        return type(self), (self.value,)

    def __str__(self) -> str:
        return self.name or str(self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.value}{f' {self.name}' if self.name else ''}>"


class ErrorCodeBase(Value):
    """Error codes, with their meaning and the recommended action."""

    @property
    def about(self) -> str:
        """The meaning of the code and the recommended action, in one sentence; empty for an unknown code."""
        return str(self._row.get("about", ""))

    @property
    def retriable(self) -> bool | None:
        """Whether Kafka's clients retry; None for an unknown code."""
        return self._row.get("retriable")

    @property
    def since(self) -> str | None:
        """The first release that has the code, starting with 0.8.2.2; None for an unknown code."""
        return self._row.get("since")

    @property
    def _row(self) -> dict[str, Any]:
        row: dict[str, Any] = _tables()["kinds"]["ErrorCode"].get(str(self.value), {})
        return row


class AuthorizedOperationsBase(Value):
    """A set of ACL operations; bit n stands for the operation with code n (KIP-430)."""

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
    """Return a kind of values: a class that can be called with a number or a name.

    Args:
        name: one of `kinds()`.

    Raises:
        UnknownMessage: the kind does not exist.

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
    make: Any = _BASES.get(name, Value)  # an enum class, which creates another enum class
    made: type[Value] = make(name, members, module="kwire.values")
    made.__doc__ = make.__doc__
    return made


def kind_of(message: str, struct: str, field: str) -> type[Value] | None:
    """Return the kind of the values in an integer field (for an array, of its elements).

    Args:
        message: the message, such as `FetchRequest`.
        struct: the struct in the message that contains the field; for fields of the message itself, the message.
        field: the name of the field in JSON.

    Returns:
        A kind; None if the field contains plain numbers.

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
    suffix = next(suffixes, None)
    return kind(fields[suffix]) if suffix else None


def words(name: str) -> tuple[str, ...]:
    """Return the words that text fields contain: `GroupState`, `GroupType`, `TransactionState`.

    Raises UnknownMessage if the list does not exist.

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
