"""The record types of internal topics: groups, transactions, share groups, cluster metadata, remote logs."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ...errors import SpecError
from ...schema.catalog import Catalog

GROUPS = "__consumer_offsets"
TRANSACTIONS = "__transaction_state"
SHARES = "__share_group_state"
METADATA = "__cluster_metadata"
REMOTE = "__remote_log_metadata"
# (kind of spec, prefix of the name) -> log; the first match applies
LOGS: dict[tuple[str, str], str] = {
    ("metadata", "RemoteLog"): REMOTE,
    ("metadata", "RemotePartition"): REMOTE,
    ("metadata", ""): METADATA,
    ("coordinator", "TransactionLog"): TRANSACTIONS,
    ("coordinator", "ShareSnapshot"): SHARES,
    ("coordinator", "ShareUpdate"): SHARES,
    ("coordinator", ""): GROUPS,
}
# message -> the message that now has its type
SUPERSEDED: dict[str, str] = {
    # The name of type 14 in Kafka 2.8, an early-access release; since 3.0, type 14 has another name and layout.
    "QuotaRecord": "ClientQuotaRecord",
}


class RecordType(NamedTuple):
    """The messages of a record. `key` is None in logs whose records have no key; `value` is None if no spec has it."""

    key: str | None = None
    value: str | None = None


@cache
def record_types(catalog: Catalog) -> dict[tuple[str, int], RecordType]:
    """Return the messages of each (log, type).

    Args:
        catalog: the specs.

    Raises:
        SpecError: two messages of a log have the same type, and `SUPERSEDED` does not select one.

    >>> from kwire.schema.catalog import catalog_for
    >>> record_types(catalog_for())["__share_group_state", 0]
    RecordType(key='ShareSnapshotKey', value='ShareSnapshotValue')
    """
    names: dict[tuple[str, int], dict[str, str]] = {}
    heads = catalog.heads()
    for name, (kind, number) in heads.items():
        if number is None or not kind.startswith(("metadata", "coordinator")) or SUPERSEDED.get(name) in heads:
            continue
        slot = "key" if kind == "coordinator-key" else "value"
        taken = names.setdefault((log_of(name, kind), number), {})
        if slot in taken:
            problem = f"{name} and {taken[slot]} are both type {number} of {log_of(name, kind)}"
            raise SpecError(problem, file=name, hint="give one of them another apiKey")
        taken[slot] = name
    return {log_and_type: RecordType(**taken) for log_and_type, taken in sorted(names.items())}


def log_of(name: str, kind: str) -> str:
    """Return the log to which a record's message belongs."""
    return next(log for (group, start), log in LOGS.items() if kind.startswith(group) and name.startswith(start))
