"""`kwire cluster --follow`: events and metrics of a served cluster as it changes."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from threading import Event
from urllib.request import urlopen

import pytest

from kwire.cli.cluster.follow_cluster import FollowedDump, Following, _metrics_server, follow_cluster
from kwire.cli.cluster.observations import model_of
from kwire.cli.main import main, parser_for
from kwire.client.address import address
from kwire.client.live_cluster import LiveCluster
from kwire.render.cluster.cluster_json import cluster_json
from kwire.testing import Kafka
from tests.conftest import ROOT


class SetAfter(Event):
    """An event that does something at each wait, and is set after all of it."""

    def __init__(self, *steps: object) -> None:
        super().__init__()
        self._steps = list(steps)

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == 0.5
        if not self._steps:
            self.set()
            return True
        step = self._steps.pop(0)
        assert callable(step)
        step()
        return False


def test_what_changes_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(brokers=2) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=2)
        where = kafka.address(1)
        steps = (lambda: kafka.create_topic("u"), lambda: kafka.move_leader("t", 0, 2), lambda: None)
        options = parser_for(["cluster"]).parse_args(["cluster", where, "--follow", "--every", "0.5", "--json"])
        assert follow_cluster(options, where, SetAfter(*steps)) == 0
        seen = capsys.readouterr()
    events = [json.loads(line) for line in seen.out.splitlines()]
    texts = [event["text"] for event in events if not event["text"].startswith("u-0: replica")]
    assert any(text.startswith("u-0: created") for text in texts)
    assert "following" in seen.err


def test_metrics_and_a_cluster_that_cannot_be_read() -> None:
    with Kafka(brokers=1) as kafka, LiveCluster(address(kafka.address(1)), timeout=2) as cluster:
        kafka.create_topic("t", partitions=3)
        following = Following(cluster)
        kafka.stop()
        assert [event.kind for event in following.read()] == ["error"]
        assert list(following.read()) == []
        with _metrics_server(None, following):
            pass
        assert not following.is_read


def test_metrics_over_http(capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(brokers=1) as kafka, LiveCluster(address(kafka.address(1))) as cluster:
        kafka.create_topic("t", partitions=3)
        with _metrics_server(0, Following(cluster)):
            url = capsys.readouterr().err.split("metrics: ")[1].strip()
            text = urlopen(url).read().decode()
    assert "kwire_partitions 3\n" in text
    assert "kwire_cluster_readable 1\n" in text


def test_a_capture_is_followed_as_it_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()
    path = tmp_path / "tap.pcap"
    path.write_bytes(whole[:9000])

    def grow() -> None:
        with path.open("ab") as file:
            file.write(whole[9000:])

    options = parser_for(["cluster"]).parse_args(["cluster", str(path), "--follow", "--every", "0.5"])
    assert follow_cluster(options, str(path), SetAfter(lambda: None, grow, lambda: None)) == 0
    text = capsys.readouterr().out
    assert "controller none -> 1" in text
    assert "born-after-restart-0: created" in text

    stopped = Event()
    dump = FollowedDump(options, stopped)
    stopped.set()
    list(dump.finish())
    assert cluster_json(dump.state)["partitions"] == cluster_json(model_of(plain(path)).state())["partitions"]


def plain(path: Path) -> argparse.Namespace:
    return parser_for(["cluster"]).parse_args(["cluster", str(path)])


def test_a_file_that_cannot_be_followed_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "tap.pcap.gz"
    packed.write_bytes(gzip.compress((ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()))
    assert main(["cluster", str(packed), "--follow"]) == 2
    assert "only captures and raw frames can be followed" in capsys.readouterr().err
    assert main(["cluster", "/nowhere.pcap", "--follow"]) == 2
    assert "/nowhere.pcap" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--follow", "--topic", "t"], "--follow takes one live broker, HOST:PORT, or one file that grows"),
        (["--listen", "0"], "--every and --listen are for --follow"),
        (["--follow", "--metrics"], "--metrics and --follow cannot be combined"),
    ],
)
def test_what_cannot_be_followed(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "fixtures/dumps/kafka-3.9-zk.pcap", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_every_is_positive(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "localhost:1", "--follow", "--every", "0"]) == 2
    assert "--every takes a positive number" in capsys.readouterr().err
