"""Differences between KIP-112 and Kafka's releases, and between versions of the inter-broker protocol."""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering
from typing import Final, Literal

from ...errors import UnknownMessage

Name = Literal["kip", "released"]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a controller and brokers, for each difference between KIP-112's text and released Kafka.

    `any_error_is_offline`: an error other than KAFKA_STORAGE_ERROR also makes a replica offline.
    `stale_is_error`: the response to a request with nothing newer for a replica is STALE_CONTROLLER_EPOCH.
    `storage_error_seen`: for a failed directory, clients receive error 56 instead of an unknown partition.
    `delete_event_first`: the znode of the notification is deleted before the broker receives a request.
    `stop_fails_offline`: StopReplica of an offline replica fails even if nothing is to be deleted.
    `stop_needs_newer`: StopReplica is fenced unless its leader epoch is above the replica's epoch.
    `metadata_of_all`: an UpdateMetadata for no particular partition lists all partitions.
    `adding_replicas`: reassignments have adding and removing replicas, and send the new epoch (KIP-455).
    `metadata_to_new`: new live brokers are sent to the known brokers first; partitions only to new brokers.
    `bad_dir_spoils_delete`: a broker with a bad directory answers all deletions with 56, also of good replicas.
    `offline_is_ineligible`: the deletion of a replica that was offline from the start is retried too.
    `stops_deleted`: a controlled shutdown also stops replicas of topics that are being deleted.
    `dead_stay_in_sync`: a new controller leaves offline replicas in the ISR of partitions with a live leader.
    `metadata_of_deleted`: the partitions sent to new brokers include those of topics being deleted.
    `raises_unchanged_epoch`: a preferred election increases the leader epoch even if the preferred replica leads.
    `informs_leaving`: a broker that shuts down receives the new leaders, like the other replicas.
    """

    any_error_is_offline: bool
    stale_is_error: bool
    storage_error_seen: bool
    delete_event_first: bool
    stop_fails_offline: bool = True
    stop_needs_newer: bool = False
    metadata_of_all: bool = False
    adding_replicas: bool = True
    metadata_to_new: bool = True
    bad_dir_spoils_delete: bool = False
    offline_is_ineligible: bool = True
    stops_deleted: bool = False
    dead_stay_in_sync: bool = False
    metadata_of_deleted: bool = False
    raises_unchanged_epoch: bool = False
    informs_leaving: bool = True


KIP: Final = Behaviour(True, False, False, True)


# by the first release with this behaviour
RELEASED: Final = {
    (1, 0): Behaviour(
        False, True, True, False, stop_fails_offline=False, metadata_of_all=True, adding_replicas=False,
        metadata_to_new=False, bad_dir_spoils_delete=True, stops_deleted=True, dead_stay_in_sync=True,
        raises_unchanged_epoch=True, informs_leaving=False, offline_is_ineligible=False,
    ),
    (2, 2): Behaviour(
        False, True, True, False, stop_fails_offline=False, adding_replicas=False, metadata_of_deleted=True
    ),
    (2, 4): Behaviour(False, True, True, False, stop_fails_offline=False, metadata_of_deleted=True),
    (2, 6): Behaviour(False, True, True, False, stop_needs_newer=True),
    (3, 0): Behaviour(False, True, True, False),
}  # fmt: skip


def behaviour_for(name: Name, release: str = "3.9") -> Behaviour:
    """Return a behaviour: `"kip"` is the text of KIP-112, `"released"` what the brokers of a release do.

    Raises UnknownMessage for another name, or a release before KIP-112.

    >>> behaviour_for("kip").any_error_is_offline, behaviour_for("released", "1.1").stop_fails_offline
    (True, False)
    """
    if name == "kip":
        return KIP
    number = release_number(release)
    first = max((known for known in RELEASED if known <= number), default=None)
    if name != "released" or first is None:
        raise UnknownMessage("behaviour", f"{name} {release}", ["kip", "released 1.0", "released 3.9"])
    return RELEASED[first]


@total_ordering
@dataclass(frozen=True, slots=True)
class InterBrokerProtocol:
    """The versions of requests between brokers with one `inter.broker.protocol.version`."""

    since: tuple[int, ...]
    leader_and_isr: int
    update_metadata: int
    stop_replica: int

    def __lt__(self, other: InterBrokerProtocol) -> bool:
        return self.since < other.since

    @property
    def knows_disk_failure(self) -> bool:
        """Whether KIP-112's fields are sent. Without them, a broker halts when a directory fails."""
        return self.leader_and_isr >= 1


PROTOCOLS: Final = (
    InterBrokerProtocol((0, 8), 0, 0, 0),
    InterBrokerProtocol((0, 9), 0, 1, 0),
    InterBrokerProtocol((0, 10, 0), 0, 2, 0),
    InterBrokerProtocol((0, 10, 2), 0, 3, 0),
    InterBrokerProtocol((1, 0), 1, 4, 0),
    InterBrokerProtocol((2, 2), 2, 5, 1),
    InterBrokerProtocol((2, 4, 0), 3, 5, 1),  # 2.4-IV0
    InterBrokerProtocol((2, 4, 1), 4, 6, 2),
    InterBrokerProtocol((2, 6), 4, 6, 3),
    InterBrokerProtocol((2, 8), 5, 7, 3),
    InterBrokerProtocol((3, 2), 6, 7, 3),
    InterBrokerProtocol((3, 4), 7, 8, 4),
)


def protocol_for(text: str) -> InterBrokerProtocol:
    """Return the request versions of an `inter.broker.protocol.version`.

    >>> [protocol_for(text).leader_and_isr for text in ("0.10.2", "1.1", "2.4-IV0", "2.4", "3.9")]
    [0, 1, 3, 4, 7]
    """
    base, _, internal = text.partition("-IV")
    number = release_number(base)
    if number[:2] == (2, 4):
        number = (2, 4, min(int(internal), 1) if internal else 1)
    return max(row for row in PROTOCOLS if row.since <= number)


def release_number(text: str) -> tuple[int, ...]:
    """Return a release as comparable numbers.

    >>> release_number("0.10.2"), release_number("3.9.1")
    ((0, 10, 2), (3, 9, 1))
    """
    return tuple(int(part) for part in text.split("."))
