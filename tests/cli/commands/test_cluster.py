"""`kwire cluster` shows what a dump tells of a cluster, at its end or before."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from kwire.broker import Settings
from kwire.broker.server.socket_server import SocketServer
from kwire.cli.main import main
from kwire.render.cluster.cluster_differences import _change_text
from tests.broker.server.serving import serving
from tests.broker.server.test_socket_server import place, used
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP, ran
from tests.conftest import ROOT, SHARED, needs_shared
from tests.protocol.test_frame_decoder import request


def test_at_the_end_and_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert "lonely              0          none    2         2    2        no leader" in out(capsys, "cluster", DUMP)
    assert out(capsys, "cluster", DUMP, "--at", "1").startswith("cluster (no id): controller 1, 1 topic, 1 partition\n")


def test_one_topic_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    seen = json.loads(out(capsys, "cluster", DUMP, "--topic", "born-after-restart", "--json"))
    assert [(one["partition"], one["replicas"], one["offlineReplicas"]) for one in seen["partitions"]] == [
        (0, [2, 3], [2])
    ]
    assert [one["rack"] for one in seen["brokers"]] == ["/dc1/r1", "/dc1/r2", "/dc2/r1"]


@needs_shared
@pytest.mark.parametrize("arguments", [["cluster"], ["cluster", "--groups"], ["assign"]])
def test_files_of_two_clusters_are_refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    captures = [str(SHARED / f"captures/kafka-{release}-zk.clients.pcap") for release in ("2.4", "1.1")]
    assert main([*arguments, *captures]) == 2
    stdout, stderr = capsys.readouterr()
    assert not stdout
    assert "its files name 2 cluster ids: " in stderr


@needs_shared
def test_plans_for_two_clusters_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    captures = [str(SHARED / f"captures/kafka-{release}-zk.clients.pcap") for release in ("2.4", "1.1")]
    assert main(["place", "--from", captures[0], "--from", captures[1], "--repair"]) == 2
    assert "its files name 2 cluster ids: " in capsys.readouterr().err


@needs_shared
def test_a_deleted_topic_says_when(capsys: pytest.CaptureFixture[str]) -> None:
    """kafka-4.4-kraft.segments: RemoveTopicRecord of the topic "gone", in a batch of 06:42:58.771."""
    log = str(SHARED / "captures/kafka-4.4-kraft.segments/__cluster_metadata-0/00000000000000000000.log")
    assert "\ndeleted: gone at 2026-11-21T06:42:58.771\n" in out(capsys, "cluster", log)
    for arguments in (["--topic", "gone"], ["--why", "gone-0"]):
        assert main(["cluster", log, *arguments]) == 2
        assert "topic gone was deleted at 2026-11-21T06:42:58.771; --at" in capsys.readouterr().err
    assert "topic  partition" in out(capsys, "cluster", log, "--topic", "gone", "--at", "2026-11-21T06:42:58")


def test_what_cannot_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", DUMP, "--topic", "lonly"]) == 2
    assert "there is no topic 'lonly'; did you mean lonely?" in capsys.readouterr().err
    assert main(["cluster", DUMP, DUMP, "--at", "3"]) == 2
    done = ran("cluster", "-", data=request(1))
    assert done.returncode == 2
    assert b"no message describes a cluster" in done.stderr


def test_a_live_broker(capsys: pytest.CaptureFixture[str]) -> None:
    def use(made: SocketServer) -> tuple[str, Any]:
        made.cluster.controller.create("t", {0: [1, 2], 1: [3, 1]})
        where = str(place(made))
        return out(capsys, "cluster", where), json.loads(out(capsys, "cluster", where, "--topic", "t", "--json"))

    (text, found), notes = used(use, 3)
    assert "rack r1\n  broker 1  127.0.0.1:" in text
    assert "t      1          3       3,1       3,1  -        ok\n" in text
    assert [(one["racks"], one["rackViolation"]) for one in found["partitions"]] == [
        (["r1", "r2"], False),
        (["r3", "r1"], False),
    ]
    assert notes == []


@pytest.mark.parametrize(("default", "expected"), [(1, ["strict"]), (2, ["strict", "usual"])])
def test_a_live_broker_is_asked_how_many_replicas_have_to_be_in_sync(
    default: int, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """By topics' own `min.insync.replicas`, else by the brokers'."""

    def use(made: SocketServer) -> Any:
        controller = made.cluster.controller
        controller.create("strict", {0: [1, 2]}, {"min.insync.replicas": "2"})
        controller.create("usual", {0: [1, 2]})
        controller.create("lenient", {0: [1, 2]}, {"min.insync.replicas": "1"})
        made.cluster.fail(*controller.nodes[2].log_dirs)
        return json.loads(out(capsys, "cluster", str(place(made)), "--under-min-isr", "--json"))

    found, _ = used(use, 3, Settings(min_insync_replicas=default))
    assert [row["topic"] for row in found["partitions"]] == expected


def test_brokers_that_do_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["cluster", where, "--timeout", "0.1"]) == 2
        assert f"{where}: no answer in time" in capsys.readouterr().err
        assert main(["cluster", where, DUMP]) == 2
        assert main(["cluster", where, "--at", "1"]) == 2
    assert main(["cluster", where]) == 2
    assert "Connection refused" in capsys.readouterr().err
    with serving(lambda frame: b"HTTP/1.1 400 Bad Request\r\n\r\n") as other:
        assert main(["cluster", other]) == 2
    assert "it does not respond as Kafka does" in capsys.readouterr().err
    assert main(["cluster", str(tmp_path / "no:9092")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_drafts_are_read_by_what_their_fields_mean(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "fixtures/by-hand"
    kip_112 = str(folder / "KIP-112/MetadataResponse.v3.offline-replica.hex")
    seen = json.loads(out(capsys, "cluster", kip_112, "--json"))
    assert [(one["partition"], one["replicas"], one["offlineReplicas"]) for one in seen["partitions"]] == [
        (1, [3, 2], [2])
    ]
    kip_36 = str(folder / "KIP-36/TopicMetadataResponse.v1.two-brokers-one-rack.hex")
    seen = json.loads(out(capsys, "cluster", kip_36, "--json"))
    assert [(one["nodeId"], one["rack"]) for one in seen["brokers"]] == [(1, "us-east-1c"), (2, None)]
    assert [(one["leader"], one["isr"]) for one in seen["partitions"]] == [(1, [1, 2]), (2, [2])]
    leader = str(folder / "KIP-112/LeaderAndIsrRequest.v1.one-old-one-new.hex")
    assert "orders    1          3       3,2       3    -        under-replicated" in out(capsys, "cluster", leader)


def test_place_takes_drafts_too(capsys: pytest.CaptureFixture[str]) -> None:
    kip_112 = str(ROOT / "fixtures/by-hand/KIP-112/MetadataResponse.v3.offline-replica.hex")
    assert "1 partition as they are, on 3 brokers" in out(capsys, "place", "--from", kip_112)


PCAP = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def test_partitions_are_chosen_by_what_is_wrong_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*options: str) -> set[tuple[str, int]]:
        found = json.loads(out(capsys, "cluster", PCAP, "--json", *options))["partitions"]
        return {(one["topic"], one["partition"]) for one in found}

    everything = json.loads(out(capsys, "cluster", PCAP, "--json"))["partitions"]
    offline = {(one["topic"], one["partition"]) for one in everything if one["offlineReplicas"]}
    behind = {(one["topic"], one["partition"]) for one in everything if one["underReplicated"]}
    leaderless = {(one["topic"], one["partition"]) for one in everything if one["leader"] < 0}
    assert shown("--offline") == offline != shown()
    assert shown("--under-replicated") == behind
    assert shown("--unavailable") == leaderless
    assert shown("--unavailable", "--under-replicated") == leaderless & behind
    assert shown("--under-min-isr") == set()


def test_two_moments_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    args = "cluster", PCAP, "--topic", "payments", "--from", "06:28:00", "--to", "06:30:00"
    assert "partition payments-2: leader 1 -> -1, leaderEpoch 0 -> 2" in out(capsys, *args)
    found = json.loads(out(capsys, *args, "--json"))["partition"]["payments-2"]
    assert (found["before"]["isr"], found["after"]["isr"]) == ([1, 3], [1])
    same = out(capsys, "cluster", PCAP, "--from", "06:30:00", "--to", "06:31:00")
    assert same == "nothing differs\n"
    assert main(["cluster", PCAP, "--from", "06:28:00"]) == 2
    assert "--from and --to must be given together" in capsys.readouterr().err
    assert main(["cluster", PCAP, "--from", "06:30:00", "--to", "06:28:00"]) == 2
    assert "--from 06:30:00 is later than --to 06:28:00" in capsys.readouterr().err
    assert main(["cluster", PCAP, "--from", "06:28:00", "--to", "06:30:00", "--at", "9"]) == 2
    assert "--at cannot be combined" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--groups", "--metrics"], "--groups and --metrics cannot be combined"),
        (["--group", "g", "--offline"], "--groups and --offline cannot be combined"),
        (["--metrics", "--from", "06:28:00", "--to", "06:30:00"], "--metrics and --from cannot be combined"),
        (["127.0.0.1:1", "x.pcap", "--groups"], "127.0.0.1:1 is a live broker: give only one"),
        (["127.0.0.1:1", "--from", "1", "--to", "2"], "127.0.0.1:1 is a live broker"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", PCAP, *options]) == 2
    assert words in capsys.readouterr().err
    assert main(["cluster", PCAP, "--at", "06:00:00"]) == 2
    assert "no message describes a cluster before 06:00:00" in capsys.readouterr().err
    assert main(["cluster", PCAP, "--at", "noon"]) == 2
    assert "--at" in capsys.readouterr().err


def test_metrics_over_time(capsys: pytest.CaptureFixture[str]) -> None:
    lines = out(capsys, "cluster", PCAP, "--metrics").splitlines()
    assert "2       OfflineReplicaCount       4      2026-11-21T06:28:13.434  2026-11-21T06:29:35.431" in lines
    rows = json.loads(out(capsys, "cluster", PCAP, "--json"))["metrics"]
    assert {row["metric"] for row in rows} == {"OfflineReplicaCount", "OfflineLogDirectoryCount"}


def test_a_snapshot_has_settings(capsys: pytest.CaptureFixture[str]) -> None:
    (snapshot,) = (ROOT / "fixtures/logs/__cluster_metadata-0").glob("*.checkpoint")
    shown = out(capsys, "cluster", str(snapshot))
    assert "\nfeatures\n  eligible.leader.replicas.version: 1\n" in shown
    assert "\nscram\n  user-a: SCRAM-SHA-256\n" in shown


def test_znodes_alone_say_what_they_lack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    registration = {"version": 1, "host": "h", "port": 9, "jmx_port": -1, "timestamp": "1"}
    file = tmp_path / "znodes.json"
    file.write_text(json.dumps({"/brokers/ids/7": json.dumps(registration)}))
    assert main(["cluster", str(file)]) == 0
    printed = capsys.readouterr()
    assert "broker 7  h:9" in printed.out
    assert "znodes do not have which replicas lie in failed log directories" in printed.err
    file.write_text('{"path": "/a", "data": 5, "version": "x"}')
    assert main(["cluster", str(file)]) == 2
    assert "line 1 is not a change of a znode" in capsys.readouterr().err


def test_an_empty_list_and_a_missing_value_are_a_dash() -> None:
    change = {"before": {"isr": [1, 2], "leader": 3, "epoch": 1}, "after": {"isr": [], "leader": None, "epoch": 1}}
    assert _change_text(change) == "isr 1,2 -> -, leader 3 -> -"
