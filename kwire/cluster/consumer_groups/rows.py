"""The rows of the tables of consumer groups: members and partitions. The fields of a class are its columns."""

from __future__ import annotations

from typing import NamedTuple


class MemberRow(NamedTuple):
    """A member of a group, with the partitions that it had in an interval.

    `since` and `until` are seconds since 1970; `until` is None while the interval lasts; both are None if no frame had
    a time.

    `local_partitions` counts the partitions with a replica in the member's rack; None if this rack or a broker's rack
    is unknown. `read_partitions` counts the partitions that the member was seen to read, `read_across` those of them
    that it read from a broker in another rack; `bytes_read` and `bytes_across` are the bytes of records in these
    responses. `lag` is the sum over the partitions whose lag is known.
    """

    group: str
    protocol: str
    generation: int | None
    assignor: str | None
    member_id: str
    instance_id: str | None
    client_id: str | None
    host: str | None
    rack: str | None
    topics: tuple[str, ...] | None
    partitions: tuple[str, ...] | None
    lag: int | None
    local_partitions: int | None
    read_partitions: int
    read_across: int | None
    bytes_read: int
    bytes_across: int | None
    since: float | None
    until: float | None = None


class PartitionRow(NamedTuple):
    """A partition of a group: its member, its committed and end offsets, and the brokers from which it is read."""

    group: str
    topic: str
    partition: int
    member_id: str | None
    rack: str | None
    committed: int | None
    end: int | None
    lag: int | None
    leader: int | None
    replica_racks: tuple[str | None, ...] | None
    read_from: tuple[int, ...]
    is_across: bool | None
