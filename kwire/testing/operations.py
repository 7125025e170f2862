"""What a test can do to a running cluster: rules for requests, brokers, leaders, disks, the clock, records, frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from ..codecs.records import Record
from ..errors import excerpt


class Rule:
    """A rule created by `on`; a context manager that removes the rule at the end of its block.

    Attributes:
        number: the number of the rule in its cluster.
    """

    def __init__(self, kafka: Operations, number: int) -> None:
        self._kafka = kafka
        self.number: int = number

    @property
    def hits(self) -> int:
        """The number of requests to which the rule has applied.

        Raises what a function of a rule, or the broker itself, has raised, as at the end of the cluster.
        """
        self._kafka._report()
        return int(self._kafka._do("hits", rule=self.number))

    def remove(self) -> None:
        """Remove the rule."""
        self._kafka._do("remove_rule", rule=self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Requests:
    """The requests that a rule applies to; each method defines what happens to these requests.

    Each method takes `times`, the number of requests to which the rule applies (None for all requests), and returns
    the `Rule`. Rules of different kinds (delay, drop, cut, respond) combine; of several rules of one kind, the oldest
    applies.
    """

    def __init__(self, kafka: Operations, fields: dict[str, Any]) -> None:
        self._kafka, self._fields = kafka, fields

    def observe(self) -> Rule:
        """Only count the requests."""
        return self._rule("observe")

    def error(self, name: str | int, times: int | None = None) -> Rule:
        """Make the requests fail.

        The broker reports the error where it would detect a real one: in a request with several partitions, partitions
        that do not match are handled as usual, and a batch that fails is not appended.

        Args:
            name: the error by Kafka's name, such as `NOT_LEADER_OR_FOLLOWER`, or its code.
            times: the number of requests that fail; None for all.

        Raises:
            UnknownMessage: no error has this name or code.
            ValueError: responses of this api have no field for an error.
        """
        return self._rule("error", times, error=name)

    def respond(self, answer: Any, times: int | None = None) -> Rule:
        """Respond to the requests with a message, without handling them.

        Args:
            answer: the response message, or its JSON as a dict, or a function or coroutine function that takes the
                request message and returns a response, or None to let the broker respond. Functions do not work with
                `process`.
            times: the number of requests that get this response; None for all.
        """
        return self._rule("respond", times, answer=answer)

    def change(self, function: Callable[[Any, Any], Any], times: int | None = None) -> Rule:
        """Replace each response with the result of a function of the request and the broker's response; not with
        `process`."""
        return self._rule("change", times, answer=function)

    def delay(self, seconds: float, times: int | None = None) -> Rule:
        """Delay the response; the request is handled at once."""
        return self._rule("delay", times, seconds=seconds)

    def drop(self, times: int | None = None, *, is_handled: bool = False) -> Rule:
        """Close the connection instead of responding; `is_handled` says whether the request is handled first."""
        return self._rule("drop", times, is_handled=is_handled)

    def cut(self, after: int, times: int | None = None) -> Rule:
        """Close the connection after this many bytes of the response."""
        return self._rule("cut", times, after=after)

    def hang(self, times: int | None = None) -> Rule:
        """Neither handle the requests nor respond to them; the connection stays open."""
        return self._rule("hang", times)

    def _rule(self, action: str, times: int | None = None, **more: Any) -> Rule:
        return Rule(self._kafka, int(self._kafka._do("add_rule", action=action, times=times, **self._fields, **more)))


class Operations:
    """Operations on a cluster that do not wait. They raise ValueError for a broker, topic or partition that does not
    exist."""

    def _do(self, operation: str, **arguments: Any) -> Any:
        raise NotImplementedError

    def _report(self) -> None:
        raise NotImplementedError

    def on(
        self,
        api: str | None = None,
        *,
        broker: int | None = None,
        client: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        where: Callable[[Any], bool] | None = None,
    ) -> Requests:
        """Select the requests that a rule applies to.

        Args:
            api: the api, such as `Produce`; None for all apis.
            broker: the id of the broker that receives the requests.
            client: the client id, which may contain wildcards.
            topic, partition: the topic and the partition in the requests.
            group: the group id or transactional id in the requests, which may contain wildcards.
            where: a function that returns whether a request message matches; not with `process`.
        """
        given = {"api": api, "broker": broker, "client": client, "topic": topic, "partition": partition, "group": group}
        return Requests(self, {**given, **({"where": where} if where else {})})

    def clear_rules(self) -> None:
        """Remove all rules."""
        self._do("clear_rules")

    def set_network(
        self,
        broker: int | None = None,
        *,
        delay: float = 0.0,
        bytes_per_second: float | None = None,
        is_cut: bool = False,
    ) -> None:
        """Set the quality of the network between clients and a broker; without arguments, reset it to normal.

        A broker that `isolate_broker` has cut off stays isolated until `rejoin_broker`.

        Args:
            broker: the id of the broker; None for all brokers.
            delay: the delay of each response, in seconds; up to a day.
            bytes_per_second: the rate at which responses are sent, at least 1; None for no limit.
            is_cut: whether all data is lost while connections stay open.
        """
        self._do("set_network", broker=broker, delay=delay, bytes_per_second=bytes_per_second, is_cut=is_cut)

    def isolate_broker(self, broker: int) -> None:
        """Cut a broker off from clients and from the other brokers: other brokers lead, and its connections hang."""
        self._do("isolate_broker", broker=broker)

    def rejoin_broker(self, broker: int) -> None:
        """Reconnect an isolated broker; it catches up and serves again."""
        self._do("rejoin_broker", broker=broker)

    def kill_connections(self, broker: int | None = None, client: str | None = None) -> int:
        """Reset the connections to a broker or of a client id, and return their number."""
        return int(self._do("kill_connections", broker=broker, client=client))

    def create_topic(
        self,
        topic: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        configs: Mapping[str, str] | None = None,
        assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Create a topic.

        Args:
            topic: the name of the topic.
            partitions, replication_factor: the numbers of partitions and replicas; -1 for the cluster's default.
            configs: the topic's configs, by Kafka's names.
            assignment: the brokers of each partition, the preferred leader first; replaces both numbers.

        Raises:
            Refused: the topic cannot be created; `error_code` is Kafka's.
        """
        self._do(
            "create_topic",
            topic=topic,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=dict(configs or {}),
            assignment=[list(row) for row in assignment] if assignment else None,
        )

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self._do("delete_topic", topic=topic)

    def partition(self, topic: str, partition: int = 0) -> dict[str, Any]:
        """Return leader, leader_epoch, replicas, isr, offline, start and end of a partition."""
        return dict(self._do("partition", topic=topic, partition=partition))

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Move the leadership of a partition to another in-sync replica."""
        self._do("move_leader", topic=topic, partition=partition, broker=broker)

    def shrink_isr(self, topic: str, partition: int, *brokers: int) -> None:
        """Remove replicas from the ISR; they get no records until `expand_isr`."""
        self._do("shrink_isr", topic=topic, partition=partition, brokers=list(brokers))

    def expand_isr(self, topic: str, partition: int) -> None:
        """Make all reachable replicas catch up and join the ISR."""
        self._do("expand_isr", topic=topic, partition=partition)

    def log_dirs(self, broker: int) -> list[str]:
        """Return the paths of the log directories of a broker."""
        return list(self._do("log_dirs", broker=broker))

    def fail_log_dir(self, broker: int, log_dir: int | str = 0) -> None:
        """Make a log directory fail as if its disk had failed (KIP-112); given by number, from 0, or by path."""
        self._do("fail_log_dir", broker=broker, log_dir=log_dir)

    def fill_log_dir(self, broker: int, log_dir: int | str = 0) -> None:
        """Fill a disk: the next write to it fails and takes the log directory offline, as in Kafka."""
        self._do("fill_log_dir", broker=broker, log_dir=log_dir)

    def heal_log_dir(self, broker: int, log_dir: int | str = 0) -> None:
        """Repair a log directory; its replicas catch up."""
        self._do("heal_log_dir", broker=broker, log_dir=log_dir)

    def advance(self, seconds: float, *, keep_connected: bool = True) -> None:
        """Advance the clock of the cluster: sessions and transactions expire, and old records are deleted.

        Args:
            seconds: the time to add.
            keep_connected: whether group members with an open connection are kept from expiring.

        Raises:
            ValueError: `seconds` is negative or no finite number, or the clock would be more than 100 years ahead.
        """
        self._do("advance", seconds=seconds, keep_connected=keep_connected)

    def group_state(self, group: str) -> str:
        """Return the state of a group by Kafka's name, such as `Empty` or `Stable`; `Dead` if the group does not
        exist."""
        return str(self._do("group_state", group=group))

    def coordinator(self, group: str) -> int:
        """Return the id of the broker that coordinates a group; -1 if no broker does.

        >>> from kwire.testing import Kafka
        >>> with Kafka(brokers=3) as kafka:
        ...     first = kafka.coordinator("billing")
        ...     kafka.stop_broker(first)
        ...     kafka.coordinator("billing") in {1, 2, 3} - {first}
        True
        """
        return int(self._do("coordinator", group=group))

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """Return the offset that a group has committed for a partition; -1 if it has committed none."""
        return int(self._do("committed", group=group, topic=topic, partition=partition))

    def disturbances(self) -> list[str]:
        """Return what chaos did to requests so far, one line each; see the argument `chaos`."""
        return list(self._do("disturbances"))

    def notes(self) -> list[str]:
        """Return the messages for the operator so far, such as failed directories, refused connections and repaired
        logs."""
        return list(self._do("notes"))

    def produce(
        self,
        topic: str,
        *values: bytes | None,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
        partition: int = 0,
    ) -> int:
        """Append records without a client.

        Args:
            topic, partition: where to append.
            values: the values of the records, which form one batch.
            key, headers: the key and the headers of all records.
            timestamp: the timestamp of all records, in milliseconds since 1970; by default the current time.

        Returns:
            The offset of the first record.
        """
        more = {"timestamp": timestamp} if timestamp is not None else {}
        rows = [{"key": key, "value": value, "headers": pairs_of(headers), **more} for value in values]
        return int(self._do("produce", topic=topic, records=rows, partition=partition))

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """Return the records of a topic, or of one partition, without a client."""
        return list(self._do("records", topic=topic, partition=partition))

    def frames(
        self,
        api: str | None = None,
        *,
        client: str | None = None,
        direction: Literal["request", "response"] | None = None,
    ) -> list[Any]:
        """Return the decoded requests and responses (`kwire.Request`, `kwire.Response`) so far, in order.

        Args:
            api: return only frames of this api, such as `Produce`.
            client: return only frames of this client id.
            direction: `request` or `response`; both by default.

        Only the newest 64 MiB of frames are kept.

        Raises:
            UnknownMessage: Kafka has no such api.
            ValueError: there is no such direction.
        """
        return list(self._do("frames", api=api, client=client, direction=direction))

    def save_capture(self, path: str | Path) -> None:
        """Write the frames so far to a pcap file, for `kwire decode` and Wireshark."""
        Path(path).write_bytes(self._do("capture"))

    def forget_frames(self) -> None:
        """Discard the frames so far."""
        self._do("forget_frames")


def pairs_of(headers: Any) -> list[tuple[str, bytes | None]]:
    """Return headers as pairs; raise TypeError if they are none.

    >>> pairs_of({"trace": b"1"}.items())
    [('trace', b'1')]
    """
    if isinstance(headers, Mapping):
        raise TypeError("headers are pairs of name and value, because names may repeat: pass headers.items()")
    try:
        return [(name, value) for name, value in headers]
    except (TypeError, ValueError):
        raise TypeError(f"headers are pairs, such as [('trace', b'1')], not {excerpt(headers)}") from None
