"""`kwire cluster --follow`: events and metrics of a served cluster as it changes."""

from __future__ import annotations

import json
from threading import Event
from urllib.request import urlopen

import pytest

from kwire.cli.cluster.follow_cluster import Following, _metrics_server, follow_cluster
from kwire.cli.main import main, parser_for
from kwire.client.address import address
from kwire.client.live_cluster import LiveCluster
from kwire.testing import Kafka


class SetAfter(Event):
    """An event that does something at each wait, and is set after all of it."""

    def __init__(self, *steps: object) -> None:
        super().__init__()
        self._steps = list(steps)

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout == 0.5
        if not self._steps:
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--follow"], "--follow takes one live broker"),
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
