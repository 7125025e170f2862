"""The throttle of a plan: how many bytes per second brokers copy for it (KIP-73).

Rates are configs of brokers, and lists in the configs of topics say to which replicas they apply. The lists also tell
a later run which brokers an interrupted one has throttled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..cluster import ClusterState
from ..errors import CallError
from .cluster_client import ClusterClient, Plan, RequestRefused, check_row, live_brokers

RATES = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LISTS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
ALL_REPLICAS = "*"  # in place of a list
TOPIC, BROKER = 2, 4  # types of config resources
SET, DELETE = 0, 1


class ReplicationThrottle:
    """The throttle of one plan on a live cluster: started, extended to brokers that come back, and removed.

    Only brokers that hold a replica before or after the plan are throttled. Brokers that are down are left out: they
    copy nothing.

    Args:
        cluster: the cluster to change.
        plan: the target replicas of partitions.
        notify: takes a line about each broker that cannot be asked.
    """

    def __init__(self, cluster: ClusterClient, plan: Plan, notify: Callable[[str], None]) -> None:
        self._cluster, self._plan, self._notify = cluster, plan, notify
        self._rate = 0
        self._missing: set[int] = set()  # brokers of the plan that have not taken the rate yet

    def start(self, rate: int) -> None:
        """Limit the bytes per second that each broker of the plan sends and receives for it.

        1. The lists of topics come first: they tell `remove` the brokers, even after this process was killed.
        2. Each broker takes its own rate.

        Args:
            rate: bytes per second, for each broker.

        Raises:
            CallError: this is refused; what was set before is removed.
        """
        # Kafka: ReassignPartitionsCommand.modifyReassignmentThrottle
        self._rate = rate
        state = self._cluster.state()
        try:
            for topic, added in self._new_entries(state).items():
                lists = _lists_of(state, topic)
                merged = {name: entries | added[name] for name, entries in lists.items()}
                self._configure_topic(topic, lists, merged)
                self._missing |= {_node_of(entry) for entries in added.values() for entry in entries}
            self.extend(state)
        except CallError:
            self.remove()
            raise
        for node_id in sorted(self._missing):
            self._notify(f"broker {node_id} is down; it is throttled when it is back")

    def extend(self, state: ClusterState) -> None:
        """Set the rate on brokers of the plan that were down when it was set, and are back."""
        for node_id in sorted(self._missing & live_brokers(state)):
            try:
                alter_configs(self._cluster, BROKER, str(node_id), dict.fromkeys(RATES, str(self._rate)), node_id)
            except RequestRefused:
                raise
            except CallError:
                continue  # it is listed as live until its session ends
            self._missing.discard(node_id)

    def remove(self) -> RequestRefused | None:
        """Remove the throttle of the plan, also one that an interrupted run has set.

        The rates of all live brokers are removed, as kafka-reassign-partitions --verify does, except those to which the
        lists of other partitions apply. Brokers that are down and were throttled are named.

        Returns:
            The first refusal, after which a part of the throttle remains; None if all was removed.
        """
        # Kafka: ReassignPartitionsCommand.clearAllThrottles
        state = self._cluster.state()
        live = live_brokers(state)
        refusal: RequestRefused | None = None
        for node_id in sorted(live - self._brokers_of_others(state)):
            try:
                alter_configs(self._cluster, BROKER, str(node_id), dict.fromkeys(RATES), node_id)
            except RequestRefused as error:
                refusal = refusal or error
            except CallError:
                live.discard(node_id)  # it is listed as live until its session ends
        throttled: set[int] = set()
        for topic in dict.fromkeys(topic for topic, _ in self._plan):
            lists = _lists_of(state, topic)
            own = {name: {entry for entry in lists[name] if self._is_own(topic, entry)} for name in LISTS}
            throttled |= {_node_of(entry) for entries in own.values() for entry in entries}
            try:
                self._configure_topic(topic, lists, {name: lists[name] - own[name] for name in LISTS})
            except RequestRefused as error:
                refusal = refusal or error
        for node_id in sorted(throttled - live - self._missing):
            self._notify(f"broker {node_id} is down and keeps its throttle; --verify removes it when it is back")
        return refusal

    def _new_entries(self, state: ClusterState) -> dict[str, dict[str, set[str]]]:
        """Return what the lists of each topic must contain, by the names of the lists.

        Any replica that a partition has before may lead and send to the replicas that it gains.
        """
        entries: dict[str, dict[str, set[str]]] = {}
        for partition in state.partitions():
            target = self._plan.get((partition.topic, partition.index))
            if target is None:
                continue
            before = set(partition.replicas) - set(partition.adding or ())
            gained = set(target) - before
            if gained:
                leaders, followers = entries.setdefault(partition.topic, {name: set() for name in LISTS}).values()
                leaders |= {f"{partition.index}:{node_id}" for node_id in before}
                followers |= {f"{partition.index}:{node_id}" for node_id in gained}
        return entries

    def _brokers_of_others(self, state: ClusterState) -> set[int]:
        """Return the brokers that lists throttle for partitions outside the plan."""
        brokers: set[int] = set()
        for kind, topic in state.settings.configs:
            if kind != "topic":
                continue
            for entry in set().union(*_lists_of(state, topic).values()):
                if entry == ALL_REPLICAS:
                    brokers |= {node_id for row in state.partitions(topic) for node_id in row.replicas}
                elif not self._is_own(topic, entry):
                    brokers.add(_node_of(entry))
        return brokers

    def _is_own(self, topic: str, entry: str) -> bool:
        """Whether an entry of a topic's list is about a partition of the plan."""
        index = entry.partition(":")[0]
        return index.isdecimal() and (topic, int(index)) in self._plan

    def _configure_topic(self, topic: str, before: Mapping[str, set[str]], after: Mapping[str, set[str]]) -> None:
        """Change the lists of a topic; a list that names all replicas, and one that is right, stays."""
        changes: dict[str, str | None] = {}
        for name in LISTS:
            if before[name] != after[name] and ALL_REPLICAS not in before[name]:
                changes[name] = ",".join(sorted(after[name], key=_in_order)) or None
        if changes:
            alter_configs(self._cluster, TOPIC, topic, changes)


def alter_configs(
    cluster: ClusterClient, kind: int, name: str, configs: Mapping[str, str | None], node_id: int | None = None
) -> None:
    """Set configs of a topic or broker, and delete those whose value is None.

    Args:
        cluster: the cluster to change.
        kind: `TOPIC` or `BROKER`.
        name: the topic, or the id of the broker.
        configs: the values by name.
        node_id: the broker to ask; by default the controller.

    Raises:
        CallError: this is refused, or no response arrives.
    """
    changes = [
        {"name": config, "configOperation": DELETE if value is None else SET, "value": value}
        for config, value in configs.items()
    ]
    resource = {"resourceType": kind, "resourceName": name, "configs": changes}
    message = cluster.ask("IncrementalAlterConfigsRequest", {"resources": [resource], "validateOnly": False}, node_id)
    for row in message.responses:
        check_row(row, f"configs of {'broker' if kind == BROKER else 'topic'} {row.resource_name}")


def _lists_of(state: ClusterState, topic: str) -> dict[str, set[str]]:
    """Return the lists of a topic's throttled replicas: entries such as `0:3` for replica 3 of partition 0."""
    configs = state.settings.configs.get(("topic", topic), {})
    return {name: set(_entries_in(configs.get(name, ""))) for name in LISTS}


def _entries_in(text: str) -> Iterator[str]:
    return (entry.strip() for entry in text.split(",") if entry.strip())


def _node_of(entry: str) -> int:
    """Return the node id in an entry; -1 if it has none, because any text can be configured."""
    node_id = entry.partition(":")[2]
    return int(node_id) if node_id.isdecimal() else -1


def _in_order(entry: str) -> tuple[int, ...]:
    return tuple(int(number) if number.isdecimal() else -1 for number in entry.split(":"))
