"""`kwire simulate`: runs KIP-112's scenarios on a simulated cluster, prints the messages and znodes of each step, and
writes a capture.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, BinaryIO

import msgspec

from ...capture.capture_writer import CaptureWriter
from ...cluster.events.partition_states import partition_errors, partition_states, stopped_partitions, topic_ids_in
from ...cluster.kip112 import JbodCluster
from ...cluster.kip112.recording import Happened, Played, Setting
from ...cluster.kip112.scenarios import CLIENT, STEPS, Scenario
from ...protocol import FrameDecoder, Request, Response
from ...render.colours import Style
from ...render.escaping import json_text
from ...render.json_objects.frame_json import envelope
from ...render.table import table
from ...render.value_text import count_text, shorten
from ...values import kind
from ..options.output import add_colour
from ..options.usage_error import UsageError
from ..output.output_files import output_bytes
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

DEFAULT = ("create=orders", "fail", "repair", "restart", "failover", "reassign", "delete")


def _wrap(texts: str) -> str:
    """Wrap the descriptions of steps to 80 columns."""
    lines = []
    for line in texts.splitlines():
        while len(line) > 79:
            cut = line.rfind(" ", 0, 79)
            lines.append(line[:cut])
            line = " " * 12 + line[cut + 1 :]
        lines.append(line)
    return "\n".join(lines)


_STEPS = "\n".join(f"  {name:<9} {(play.__doc__ or '').splitlines()[0]}" for name, play in STEPS.items())
EXAMPLES = f"""\
  kwire simulate                             KIP-112's scenarios, one by one
  kwire simulate create=orders:1,2 fail=1:/a -w failed.pcap
  kwire simulate create fail restart --racks a,b,a --behaviour released

Steps; the part after = is optional:
{_wrap(_STEPS)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"played in order; {' '.join(DEFAULT)} unless given")
    parser.add_argument("--brokers", type=int, default=3, metavar="N", help="number of brokers; default: 3")
    parser.add_argument(
        "--log-dirs", default="/a,/b", metavar="A,B", help="log directories of each broker; default: /a,/b"
    )
    parser.add_argument("--racks", default="", metavar="R,R,...", help="racks of the brokers, in order")
    parser.add_argument(
        "--behaviour", choices=("kip", "released"), default="kip", help="the text of KIP-112, or what a release does"
    )
    parser.add_argument("--release", default="3.9", metavar="R", help="Kafka release of the brokers; default: 3.9")
    parser.add_argument("--protocol", default="3.9", metavar="P", help="inter.broker.protocol.version; default: 3.9")
    parser.add_argument("-w", "--write", metavar="FILE", help="write the messages as a pcap file")
    parser.add_argument("--znodes", metavar="FILE", help="write all znode changes as JSON lines")
    parser.add_argument("--json", action="store_true", help="one JSON object, with every message and znode")
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Run the steps. Returns 0."""
    scenario, view = Scenario(_setting(options)), _View(style_for(sys.stdout, options.color))
    to_stdout = "-" in (options.write, options.znodes)
    shown: list[dict[str, Any]] = []
    with _Written(options) as written:
        for step in scenario.play(options.steps or DEFAULT):
            written.take(step)
            if options.json:
                shown.append(view.json(step, scenario.cluster))
            elif not to_stdout:
                print("\n".join(view.lines(step, scenario.cluster)), flush=True)
    if options.json:
        print(json_text({"steps": shown}))
    for text in written.remarks():
        remark(text)
    return 0


class _Written:
    """Writes the output files: the capture, and the writes to ZooKeeper."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._files = ExitStack()
        self._capture: CaptureWriter | None = None
        self._znodes: BinaryIO | None = None
        self._frames = self._writes = 0

    def __enter__(self) -> _Written:
        with self._files:  # closed if one of them cannot be opened
            if self._options.write is not None:
                self._capture = CaptureWriter(self._files.enter_context(output_bytes(self._options.write)))
                self._files.callback(self._capture.close)
            if self._options.znodes is not None:
                self._znodes = self._files.enter_context(output_bytes(self._options.znodes))
            self._files = self._files.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._files.__exit__(*raised)

    def take(self, step: Played) -> None:
        """Write the messages and znodes of a step."""
        for event in step.happened:
            if event.frame is not None and self._capture is not None:
                self._capture.write(event.frame)
                self._frames += 1
            if event.write is not None and self._znodes is not None:
                self._znodes.write(msgspec.json.encode(_znode_json(event)) + b"\n")
                self._writes += 1

    def remarks(self) -> Iterator[str]:
        """Yield a line for each file that was written."""
        if self._capture is not None:
            connections = count_text(self._capture.connections, "connection")
            yield f"{count_text(self._frames, 'frame')} on {connections} in {self._options.write}"
        if self._znodes is not None:
            yield f"{count_text(self._writes, 'write')} to ZooKeeper in {self._options.znodes}"


def _setting(options: argparse.Namespace) -> Setting:
    directories = tuple(filter(None, options.log_dirs.split(",")))
    if not directories or len(set(directories)) != len(directories):
        raise UsageError(f"--log-dirs {options.log_dirs}: name different directories, such as /a,/b")
    if options.json and "-" in (options.write, options.znodes):
        raise UsageError("--json and the written file cannot both be standard output: name a file")
    racks = tuple(options.racks.split(",")) if options.racks else ()
    return Setting(options.brokers, directories, racks, options.behaviour, options.release, options.protocol)


def _znode_json(event: Happened) -> dict[str, Any]:
    write = event.write
    assert write is not None
    time = datetime.fromtimestamp(event.time, UTC).isoformat(timespec="milliseconds")[:-6]
    data = None if write.operation == "delete" else write.data.decode()
    return {"time": time, "op": write.operation, "path": write.path, "data": data, "version": write.version}


class _View:
    """Steps as text and JSON; its decoder follows the connections from the first step on."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self._decoder = FrameDecoder()
        self._names: dict[bytes, str] = {}

    def lines(self, step: Played, cluster: JbodCluster) -> Iterator[str]:
        """Yield the lines of a step: its title, its messages, and the state in ZooKeeper afterwards."""
        yield self.style.paint("title", f"{step.step}: {step.words}")
        for event in step.happened:
            yield self._line(event)
        rows = [*_states(cluster)]
        if rows:
            head = ("partition", "leader", "isr", "replicas", "offline")
            texts = [
                [str(row["partition"]), str(row["leader"]), *(_nodes(row[name]) for name in head[2:])] for row in rows
            ]
            yield from (f"  {line}" for line in table(head, texts, self.style))
        counts = [f"broker {node_id}: {count}" for node_id, count in _offline_counts(cluster).items() if count]
        if counts:
            yield f"  OfflineReplicaCount of {', '.join(counts)}"
        yield ""

    def json(self, step: Played, cluster: JbodCluster) -> dict[str, Any]:
        """Return a step as JSON, with its frames in the format of `kwire decode --json`."""
        happened = []
        for event in step.happened:
            if event.frame is not None:
                happened.append(envelope(self._decoder.decode(event.frame)))
            else:
                happened.append({"znode": _znode_json(event)})
        return {"step": step.step, "about": step.words, "happened": happened, "partitions": [*_states(cluster)]} | {
            "offlineReplicaCount": _offline_counts(cluster)
        }

    def _line(self, event: Happened) -> str:
        time = f"{datetime.fromtimestamp(event.time, UTC):%H:%M:%S.%f}"[:-3]
        if event.write is not None:
            data = event.write.data.decode("utf-8", "replace")
            text = f"znode {event.write.operation} {event.write.path} {data}".rstrip()
        else:
            text = self._message(event)
        return f"  {time} {shorten(text, self.style.width - 15)}"

    def _message(self, event: Happened) -> str:
        assert event.frame is not None
        source = event.frame.source
        result = self._decoder.decode(event.frame)
        assert isinstance(result, Request | Response), result
        hosts = [(end or "").rpartition(":")[0] for end in (source.client, source.broker)]
        ends = ["client" if host == CLIENT else host.rpartition(".")[2] for host in hosts]
        arrow = "->" if isinstance(result, Request) else "<-"
        text = ", ".join(self._facts(result.message)) or "ok"
        return f"{ends[0]} {arrow} {ends[1]} {result.api_name}:{result.api_version} {text}"

    def _facts(self, message: Any) -> Iterator[str]:
        """Yield the facts about partitions in a message."""
        name = type(message).__name__
        if name.endswith("Response"):
            yield from self._response_facts(message, name)
        elif name in ("MetadataRequest", "ControlledShutdownRequest"):
            yield f"broker {message.broker_id}" if name.startswith("Controlled") else "all topics"
        elif name == "StopReplicaRequest":
            for (topic, index), delete, _ in stopped_partitions(message):
                yield f"{topic}-{index}{' delete' if delete else ''}"
        else:
            self._names.update({topic_id: topic for topic, topic_id in topic_ids_in(message).items()})
            if not (message.ungrouped_partition_states or message.topic_states):
                yield f"live brokers {_nodes(broker.id for broker in message.live_brokers)}"
            yield from (_state_text(partition, row) for partition, row in partition_states(message))

    def _response_facts(self, message: Any, name: str) -> Iterator[str]:
        if name == "MetadataResponse":
            for topic in message.topics:
                for partition in topic.partitions:
                    state = f"leader {partition.leader_id} isr {_nodes(partition.isr_nodes)}"
                    if partition.offline_replicas:
                        state += f" offline {_nodes(partition.offline_replicas)}"
                    yield f"{topic.name}-{partition.partition_index} {state}"
            return
        if message.error_code:
            yield _error(message.error_code)
        if name in ("LeaderAndIsrResponse", "StopReplicaResponse"):
            for (topic, index), error in partition_errors(message, self._names).items():
                yield f"{topic}-{index} {_error(error)}"


def _state_text(partition: tuple[str, int], row: Any) -> str:
    offline = getattr(row, "offline_replicas", ())
    notes = [f"isr {_nodes(row.isr)}", *([f"offline {_nodes(offline)}"] if offline else [])]
    notes += ["new"] if getattr(row, "is_new_replica", False) else []
    return f"{partition[0]}-{partition[1]} leader {row.leader} {' '.join(notes)}"


def _states(cluster: JbodCluster) -> Iterator[dict[str, Any]]:
    """Yield each partition's state in ZooKeeper, with the replicas that the controller considers offline."""
    client, controller = cluster.client(next(iter(cluster.hosts))), cluster.controller
    topics = client.topics()
    for topic in sorted(topics):
        for index, replicas in sorted(topics[topic].partitions.items()):
            state = client.state((topic, index))
            yield {
                "partition": f"{topic}-{index}",
                "leader": None if state is None else state.leader,
                "isr": [] if state is None else list(state.isr),
                "replicas": list(replicas),
                "offline": [] if controller is None else list(controller.context.offline_replicas((topic, index))),
            }


def _offline_counts(cluster: JbodCluster) -> dict[int, int]:
    """Return the metric OfflineReplicaCount of each running broker (KIP-112)."""
    running = {node_id: host.broker for node_id, host in cluster.hosts.items() if host.broker is not None}
    return {node_id: broker.replicas.offline_replica_count for node_id, broker in running.items()}


def _nodes(nodes: Any) -> str:
    return ",".join(map(str, nodes)) or "-"


def _error(code: int) -> str:
    return "ok" if code == 0 else str(kind("ErrorCode")(code))
