"""`kwire cluster --if-lost` and `--may-restart`."""

from __future__ import annotations

import json

import pytest

from kwire.cli.cluster.broker_arguments import brokers_named
from kwire.cli.main import main
from kwire.cli.options.usage_error import UsageError
from kwire.cluster import Broker
from kwire.errors import UnknownMessage
from kwire.testing import Kafka
from tests.conftest import SHARED, needs_shared

CAPTURE = str(SHARED / "captures/kafka-4.4-kraft.clients.pcap")


def test_brokers_are_named_by_id_and_by_levels_of_racks() -> None:
    brokers = [Broker(1, rack="/DC1/R1"), Broker(2, rack="/DC1/R2"), Broker(3, rack="/DC10"), Broker(4)]
    assert brokers_named("/DC1", brokers, "--if-lost") == [1, 2]
    assert brokers_named("4, /DC1/R2,4", brokers, "--if-lost") == [2, 4]
    with pytest.raises(UnknownMessage, match="there is no live broker '9'; known: 1, 2, 3, 4"):
        brokers_named("9", brokers, "--if-lost")
    with pytest.raises(UnknownMessage, match="there is no live rack '/DC2'; "):
        brokers_named("/DC2", brokers, "--if-lost")
    with pytest.raises(UsageError, match="--if-lost: nothing in the input lists the brokers"):
        brokers_named("1", [], "--if-lost")


@needs_shared
def test_a_capture_shows_who_would_notice(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", CAPTURE, "--may-restart", "2,3"]) == 1
    out = capsys.readouterr().out
    assert "without broker 2: 2 partitions unavailable\n  without leader: flaky-1, flaky-2\n" in out
    assert "without broker 3: every partition stays available and writable\n" in out
    assert "  group py-group-parcels notices: parcels-2\n" in out
    assert main(["cluster", CAPTURE, "--if-lost", "/dc2", "--json"]) == 0
    (loss,) = json.loads(capsys.readouterr().out)["losses"]
    assert (loss["brokers"], loss["safe"], loss["groups"]) == (
        [3],
        True,
        {"py-group-parcels": [{"topic": "parcels", "partition": 2}]},
    )


def test_a_live_cluster_is_asked_for_its_quorum(capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(brokers=3) as kafka:
        broker = kafka.bootstrap_servers.split(",")[0]
        kafka.create_topic("orders", partitions=1, replication_factor=3)
        assert main(["cluster", broker, "--if-lost", "1"]) in (0, 1)
        output = capsys.readouterr()
        assert "  quorum of controllers: " in output.out
        assert output.err == ""  # the broker says what min.insync.replicas is, though nobody has set it
        assert main(["cluster", broker, "--json"]) == 0
        quorum = json.loads(capsys.readouterr().out)["quorum"]
        leader = next(replica for replica in quorum["replicas"] if replica["replicaId"] == quorum["leaderId"])
        assert (leader["voter"], leader["lag"]) == (True, 0)


def test_a_topic_is_judged_by_the_settings_and_the_quorum_of_its_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """`--topic` selects partitions; min.insync.replicas of the brokers and the voters hold for them, too."""
    with Kafka(brokers=3, configs={"min.insync.replicas": "2"}) as kafka:
        broker = kafka.bootstrap_servers.split(",")[0]
        kafka.create_topic("orders", assignment=[[2, 3]])
        assert main(["cluster", broker, "--if-lost", "3", "--topic", "orders"]) == 1
        output = capsys.readouterr()
        assert "without broker 3: 1 partition not writable with acks=all\n" in output.out
        assert "  quorum of controllers: " in output.out
        assert output.err == ""
        kafka.stop_broker(3)
        assert main(["cluster", broker, "--under-min-isr", "--topic", "orders", "--json"]) == 0
        assert [row["underMinIsr"] for row in json.loads(capsys.readouterr().out)["partitions"]] == [True]
        assert main(["cluster", broker, "--under-min-isr"]) == 0
        assert "below min.insync.replicas: 1: orders-0\n" in capsys.readouterr().out


def test_other_views_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "x.pcap", "--if-lost", "1", "--may-restart", "2"]) == 2
    assert "--if-lost and --may-restart cannot be combined" in capsys.readouterr().err


DUMP = "fixtures/dumps/kafka-3.9-zk.pcap"


def test_a_rack_is_drained_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", DUMP, "--at", "06:27:30", "--drain", "/dc1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1. stop broker 1, which leads 3 partitions"
    assert lines[1] == "broker 2 must not be stopped, in addition to those above:"
    assert main(["cluster", DUMP, "--at", "06:27:30", "--drain", "/dc1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["order"], found["blocked"]) == ([1], [2])
    assert main(["cluster", DUMP, "--at", "06:27:30", "--drain", "3"]) == 0
    capsys.readouterr()
    assert main(["cluster", DUMP, "--drain", "2"]) == 1
    assert capsys.readouterr().out.startswith("broker 2 must not be stopped:\n")


def test_why_a_partition_is_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", DUMP, "--why", "orders-0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "orders-0: leader 2, replicas 1,2,3, ISR 2, offline 1,3"
    assert "  2026-11-21T06:29:35.431  leader 1 -> 2 (leader epoch 3)  [LeaderAndIsrRequest]" in lines
    assert main(["cluster", DUMP, "--why", "orders-0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reasons"][0] == "under-replicated: replicas 1, 3 are offline, for brokers 1, 3 are down"
    assert {cause["source"] for cause in found["causes"]} == {"LeaderAndIsrRequest", ""}
    assert main(["cluster", DUMP, "--why", "orders"]) == 2
    assert "write TOPIC-PARTITION" in capsys.readouterr().err
    assert main(["cluster", DUMP, "--why", "orders-99"]) == 2
    assert "there is no partition 'orders-99'" in capsys.readouterr().err
    assert main(["cluster", DUMP, "--why", "orders-0", "--metrics"]) == 2
    assert "--metrics and --why cannot be combined" in capsys.readouterr().err
