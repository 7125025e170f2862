"""Plays KIP-112's scenarios on a simulated cluster, step by step, and records requests, responses and znodes.

Disks fail and are repaired, brokers restart, another controller takes over, partitions are reassigned, topics deleted.

A step is text: a name and, after `=`, its argument, such as `fail=2:/b` or `reassign=orders-0:2,3`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...errors import UnknownMessage
from ...errors.refused import BadStep
from ...messages import ControlledShutdownRequest, MetadataRequest
from ...protocol import Frame, Source, encode_request, encode_response
from ...zookeeper import BrokerRegistration
from ..state import NO_LEADER
from .jbod_cluster import JbodCluster
from .links import Link
from .recording import TICK, Played, RecordedCluster, ScenarioRecorder, Setting
from .releases import release_number
from .values import TopicPartition

PORT = 9092
CLIENT = "10.0.1.1"
_FIRST_CLIENT_PORT = 40_000
_MOST_BROKERS, _MOST_PARTITIONS = 250, 10_000
_VERSION = re.compile(r"\d{1,3}(\.\d{1,3}){1,3}(-IV\d{1,3})?")
_LAST = (3, 9)
_DEFAULT_SETTING = Setting()


def address(broker_id: int) -> str:
    """Return the host of a broker.

    >>> address(3)
    '10.0.0.3'
    """
    return f"10.0.0.{broker_id}"


class Scenario:
    """A cluster that starts with broker 1 as the controller and plays steps.

    Args:
        setting: the settings of the cluster.

    Attributes:
        cluster: the `JbodCluster`.

    >>> scenario = Scenario()
    >>> for played in scenario.play(["create=orders:1,2", "fail=1:/a"]):
    ...     print(played.step, len(played.happened))
    start 11
    create=orders:1,2 12
    fail=1:/a 29
    """

    def __init__(self, setting: Setting = _DEFAULT_SETTING) -> None:
        for what, text in (("release", setting.release), ("inter.broker.protocol.version", setting.protocol)):
            if not _VERSION.fullmatch(text) or not (0, 8) <= release_number(text.partition("-")[0])[:2] <= _LAST:
                raise BadStep(f"{what} {text} has no ZooKeeper-era controller", "0.8 to 3.9 have, such as 2.4 or 3.9")
        if not 1 <= setting.brokers <= _MOST_BROKERS:
            raise BadStep(f"{setting.brokers} brokers", f"1 to {_MOST_BROKERS} can be played")
        if setting.racks and len(setting.racks) != setting.brokers:
            raise BadStep(f"{len(setting.racks)} racks for {setting.brokers} brokers", "name one for each, or none")
        self.setting = setting
        self._recorder = ScenarioRecorder(setting.start)
        self._connections = 0
        self._links: dict[int, tuple[int, str]] = {}  # by identity: number of the connection, the client's address
        self.cluster: JbodCluster = RecordedCluster(setting, self._show)
        self.cluster.zk.observe = lambda write: self._recorder.note(write=write)
        self._kept: list[Link] = []  # so that no identity is reused

    def play(self, steps: Iterable[str]) -> Iterator[Played]:
        """Run the start of the cluster, then the steps.

        Raises:
            UnknownMessage: a step is unknown; then no step is run.
            BadStep: a step is invalid, or its argument does not exist.
        """
        named = [(step, *step.partition("=")[::2]) for step in steps]
        unknown = next((name for _, name, _ in named if name not in STEPS), None)
        if unknown is not None:
            raise UnknownMessage("step", unknown, tuple(STEPS))
        yield self._play_step("start", "the brokers start, broker 1 is elected controller", self._start)
        for step, name, about in named:
            play = STEPS[name]
            words: list[str] = []

            def run(play: _Step = play, about: str = about, words: list[str] = words) -> None:
                words.append(play(self, about))
                self._settle()

            played = self._play_step(step, "", run)
            yield Played(step, words[0], played.happened)

    def _play_step(self, step: str, words: str, run: Callable[[], None]) -> Played:
        run()
        return Played(step, words, self._recorder.take())

    def _start(self) -> None:
        for broker_id in self.cluster.hosts:
            self.start(broker_id)
        self.cluster.elect(1)
        self._settle()

    def start(self, broker_id: int) -> None:
        """Start a broker, with its rack and address."""
        host = address(broker_id)
        racks = self.setting.racks
        registration = BrokerRegistration(
            host=host,
            port=PORT,
            version=4,
            timestamp=str(round(self._recorder.now * 1000)),
            endpoints=(f"PLAINTEXT://{host}:{PORT}",),
            listener_security_protocol_map={"PLAINTEXT": "PLAINTEXT"},
            rack=racks[broker_id - 1] if racks else None,
        )
        self.cluster.start(broker_id, registration)

    def _settle(self) -> None:
        """Run all pending steps, then let followers replicate, which may complete reassignments."""
        self.cluster.run()
        for partition in self.partitions():
            self.cluster.replicate(partition)

    def _show(self, link: Link, data: bytes, direction: str) -> None:
        if id(link) not in self._links:
            self._kept.append(link)
            controllers = (
                node for node, host in self.cluster.hosts.items() if link.controller_epoch in host.controller_epochs
            )
            self._links[id(link)] = self._connection(address(next(controllers, 0)))
        self._note(self._links[id(link)], link.broker_id, data, direction)

    def _connection(self, host: str) -> tuple[int, str]:
        """Return the number and the client address of a new connection."""
        number = self._connections
        self._connections += 1
        return number, f"{host}:{_FIRST_CLIENT_PORT + number}"

    def _note(self, connection: tuple[int, str], broker_id: int, data: bytes, direction: str) -> None:
        number, client = connection
        broker = f"{address(broker_id)}:{PORT}"
        time = round(self._recorder.now + TICK, 6)
        source = Source(time=time, client=client, broker=broker, connection=number, direction=direction)
        self._recorder.note(frame=Frame(data, source))

    def exchange(self, host: str, broker_id: int, request: Any, version: int, answer: Callable[[], Any]) -> Any:
        """Send a request to a broker on a new connection; return the response."""
        connection = self._connection(host)
        name = "kwire" if host == CLIENT else f"broker-{host.rpartition('.')[2]}"
        self._note(connection, broker_id, encode_request(request, version, correlation_id=1, client_id=name), "request")
        response = answer()
        self._note(connection, broker_id, encode_response(response, version, correlation_id=1), "response")
        return response

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions of all topics that ZooKeeper lists."""
        topics = self.cluster.client(1).topics()
        return [(topic, index) for topic in sorted(topics) for index in sorted(topics[topic].partitions)]

    def broker(self, text: str, *, running: bool | None = None) -> int:
        """Return the broker named in a text; by default the first broker that is not the controller."""
        if not text:
            others = [node for node, host in self.cluster.hosts.items() if host.controller is None]
            matching = [node for node in others if running in (None, self.cluster.hosts[node].broker is not None)]
            return (matching or [*self.cluster.hosts])[0]
        known = ", ".join(map(str, self.cluster.hosts))
        if not text.isdecimal() or len(text) > 9 or int(text) not in self.cluster.hosts:
            raise BadStep(f"there is no broker {text}", f"there are {known}")
        broker_id = int(text)
        if running is not None and (self.cluster.hosts[broker_id].broker is not None) != running:
            raise BadStep(f"broker {broker_id} is {'down' if running else 'up'}", "start=N and stop=N change that")
        return broker_id

    def directory(self, broker_id: int, text: str, *, works: bool) -> str:
        """Return the log directory named in a text; by default the first one whose disk works, or has failed."""
        disks = self.cluster.hosts[broker_id].disks
        if text:
            if text not in disks:
                raise BadStep(f"broker {broker_id} has no log directory {text}", f"it has {', '.join(disks)}")
            return text
        path = next((name for name, disk in disks.items() if disk.works == works), None)
        if path is None:
            raise BadStep(
                f"broker {broker_id} has no disk that {'works' if works else 'failed'}", "name another broker"
            )
        return path

    def since(self, versions: Mapping[tuple[int, int], int], oldest: int) -> int:
        """Return the version of a message in the newest release that is not newer than the brokers' protocol."""
        protocol = release_number(self.setting.protocol.partition("-")[0])
        return max((version for first, version in versions.items() if first <= protocol), default=oldest)

    def partition(self, text: str) -> TopicPartition:
        """Return the partition named in a text, such as `orders-0`; by default the first one."""
        known = self.partitions()
        if not known:
            raise BadStep("there is no topic", "create=TOPIC:1,2 makes one")
        topic, _, number = text.rpartition("-")
        named = (topic, int(number)) if number.isdecimal() and len(number) < 10 else None
        if text and named not in known:
            names = ", ".join(f"{topic}-{index}" for topic, index in known[:20])
            raise BadStep(f"there is no partition {text}", f"there are {names}")
        if not text or named is None:
            return known[0]
        return named


_Step = Callable[[Scenario, str], str]


def _create(scenario: Scenario, about: str) -> str:
    """Create a topic: `orders:1,2;2,3` has two partitions; each list of replicas starts with the preferred leader."""
    topic, _, lists = about.partition(":")
    brokers = [*scenario.cluster.hosts]
    count = len(brokers)
    default = [tuple(dict.fromkeys((brokers[n % count], brokers[(n + 1) % count]))) for n in range(count)]
    replicas = [_nodes(scenario, text) for text in lists.split(";")] if lists else default
    topic = topic or "orders"
    if topic in scenario.cluster.client(1).topics():
        raise BadStep(f"topic {topic} already exists", "create=NAME:1,2 makes another")
    is_legal = all(character.isalnum() or character in "._-" for character in topic)
    if not is_legal or len(topic) > 249 or topic in (".", ".."):
        raise BadStep(f"{topic!r} is not a topic name", "letters, digits, '.', '_' and '-'")
    if len(replicas) > _MOST_PARTITIONS:
        raise BadStep(f"{len(replicas)} partitions", f"at most {_MOST_PARTITIONS} can be played")
    scenario.cluster.create_topic(topic, replicas)
    return f"topic {topic} is created, with {len(replicas)} partitions"


def _nodes(scenario: Scenario, text: str) -> tuple[int, ...]:
    nodes = tuple(scenario.broker(node) for node in text.split(",") if node)
    if not nodes or len(set(nodes)) != len(nodes):
        raise BadStep(f"{text!r} is not a list of replicas", "write the ids of different brokers, such as 1,2")
    return nodes


def _fail(scenario: Scenario, about: str) -> str:
    """Make a disk fail while its broker runs; the broker detects the failure: `2:/b`."""
    node, _, path = about.partition(":")
    broker_id = scenario.broker(node, running=True)
    directory = scenario.directory(broker_id, path, works=True)
    scenario.cluster.fail_disk(broker_id, directory)
    lost = scenario.cluster.notice(broker_id, directory)
    names = ", ".join(f"{topic}-{index}" for topic, index in lost) or "no partition"
    return f"log directory {directory} of broker {broker_id} fails: {names} offline there"


def _repair(scenario: Scenario, about: str) -> str:
    """Replace a failed disk with an empty one, which the broker uses after its next start: `2:/b`."""
    node, _, path = about.partition(":")
    failed = [
        node for node, host in scenario.cluster.hosts.items() if not all(disk.works for disk in host.disks.values())
    ]
    broker_id = scenario.broker(node) if node else next(iter(failed), scenario.broker(""))
    directory = scenario.directory(broker_id, path, works=False)
    disk = scenario.cluster.hosts[broker_id].disks[directory]
    disk.works = True
    disk.logs.clear()
    return f"the disk under {directory} of broker {broker_id} is replaced; restart={broker_id} brings it back"


def _restart(scenario: Scenario, about: str) -> str:
    """Stop a broker and start it again: `2`."""
    broker_id = scenario.broker(about, running=True)
    _stop(scenario, str(broker_id))
    scenario.start(broker_id)
    return f"broker {broker_id} is restarted"


def _stop(scenario: Scenario, about: str) -> str:
    """Stop a broker; if it is the controller, another is elected: `2`."""
    broker_id = scenario.broker(about, running=True)
    scenario.cluster.stop(broker_id)
    scenario.cluster.run()
    _elect_any(scenario)
    return f"broker {broker_id} stops"


def _elect_any(scenario: Scenario) -> None:
    if scenario.cluster.controller is None:
        for broker_id in scenario.cluster.hosts:
            if scenario.cluster.elect(broker_id):
                scenario.cluster.run()
                return


def _shut_down(scenario: Scenario, about: str) -> str:
    """Make a broker request its controlled shutdown, which moves its leaders to other brokers, and stop: `2`."""
    broker_id = scenario.broker(about, running=True)
    leading = next((node for node, host in scenario.cluster.hosts.items() if host.controller is not None), None)
    if leading is None:
        raise BadStep("there is no controller", "start=N brings a broker back")
    controller = scenario.cluster.hosts[leading].controller
    assert controller is not None
    (epoch,) = scenario.cluster.hosts[broker_id].epochs
    request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=epoch)
    version = scenario.since({(2, 4): 3, (2, 2): 2}, 1)
    sent = scenario.exchange(
        address(broker_id), leading, request, version, lambda: controller.on_controlled_shutdown(request)
    )
    scenario.cluster.after()
    scenario.cluster.run()
    _stop(scenario, str(broker_id))
    remaining = len(sent.remaining_partitions)
    return f"broker {broker_id} shuts down; {remaining} partitions remain that it leads"


def _ask(scenario: Scenario, about: str) -> str:
    """Make a client request metadata from a broker: `2`."""
    broker_id = scenario.broker(about, running=True)
    broker = scenario.cluster.hosts[broker_id].broker
    assert broker is not None
    request = MetadataRequest(topics=None)
    version = scenario.since({(2, 4): 9}, 5)
    scenario.exchange(CLIENT, broker_id, request, version, broker.metadata_response)
    return f"a client asks broker {broker_id} for metadata"


def _start(scenario: Scenario, about: str) -> str:
    """Start a broker that is down: `2`."""
    broker_id = scenario.broker(about, running=False)
    scenario.start(broker_id)
    scenario.cluster.run()
    _elect_any(scenario)
    return f"broker {broker_id} starts"


def _failover(scenario: Scenario, about: str) -> str:
    """Make the controller resign, and elect another broker: `3`."""
    old = next((node for node, host in scenario.cluster.hosts.items() if host.controller is not None), None)
    new = scenario.broker(about, running=True)
    if new == old:
        raise BadStep(f"broker {new} is the controller", "name another broker")
    if old is not None:
        scenario.cluster.resign(old)
    scenario.cluster.elect(new)
    return f"broker {new} takes over as the controller" + (f" from broker {old}" if old is not None else "")


def _reassign(scenario: Scenario, about: str) -> str:
    """Move a partition to other replicas (KIP-455): `orders-0:2,3`."""
    name, _, nodes = about.partition(":")
    partition = scenario.partition(name)
    controller = scenario.cluster.controller
    if controller is None:
        raise BadStep("there is no controller", "start=N brings a broker back")
    old = scenario.cluster.client(1).topics()[partition[0]].partitions[partition[1]]
    others = [node for node in scenario.cluster.hosts if node not in old]
    target = _nodes(scenario, nodes) if nodes else (*old[1:], *others[:1]) or old
    controller.reassign(partition, target)
    scenario.cluster.after()
    was, now = (", ".join(map(str, nodes_of)) for nodes_of in (old, target))
    return f"{partition[0]}-{partition[1]} is reassigned from brokers {was} to {now}"


def _delete(scenario: Scenario, about: str) -> str:
    """Delete a topic: `orders`."""
    topic = about or scenario.partition("")[0]
    known = scenario.cluster.client(1).topics()
    if topic not in known:
        raise BadStep(f"topic {topic} does not exist", f"there are {', '.join(sorted(known)) or 'none'}")
    scenario.cluster.delete_topic(topic)
    return f"topic {topic} is deleted, as far as its replicas are online"


def _elect(scenario: Scenario, about: str) -> str:
    """Elect the preferred replica of a partition: `orders-0`."""
    partition = scenario.partition(about)
    controller = scenario.cluster.controller
    if controller is None:
        raise BadStep("there is no controller", "start=N brings a broker back")
    controller.elect_preferred([partition])
    scenario.cluster.after()
    state = scenario.cluster.client(1).state(partition)
    leader = NO_LEADER if state is None else state.leader
    return f"the preferred leader of {partition[0]}-{partition[1]} is elected: broker {leader} leads"


STEPS: Mapping[str, _Step] = {
    "create": _create,
    "fail": _fail,
    "repair": _repair,
    "restart": _restart,
    "stop": _stop,
    "start": _start,
    "shutdown": _shut_down,
    "failover": _failover,
    "reassign": _reassign,
    "elect": _elect,
    "delete": _delete,
    "metadata": _ask,
}
