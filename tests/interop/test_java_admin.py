"""Java's admin client and Kafka's own command-line tools against brokers made with kwire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire.values import ErrorCode
from tests.client.brokers import Brokers, M, put_a_file_there
from tests.interop.kafka import RELEASES, java, need

PROGRAM = str(Path(__file__).with_name("Described.java"))
SEEN = """\
admin 0 leader 2 replicas 1@r1,2@r2,3@r3 isr 2@r2,3@r3
admin 1 leader 2 replicas 2@r2,3@r3,1@r1 isr 2@r2,3@r3,1@r1
again TopicExistsException
config min.insync.replicas 2 DYNAMIC_TOPIC_CONFIG
consumer 0 offline [1]
consumer 1 offline []
dir 1 a KafkaStorageException
dir 1 b t-1
dir 2 a t-0
dir 2 b t-1
dir 3 a t-0
dir 3 b t-1
fewer InvalidPartitionsException
gone done
made 1 2 1
more done
node 1 r1
node 2 r2
node 3 r3
wide InvalidReplicationFactorException
"""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """A topic of two partitions, of which the first has lost a replica with its directory."""
    need("java", "mvn")
    made = Brokers(tmp_path_factory.mktemp("brokers"))
    try:
        made.start()
        create(made)
        put_a_file_there(made.path(1, "a"))
        made.until(lambda: made.log_dirs(1) == [ErrorCode.KAFKA_STORAGE_ERROR, 0])
        yield made
    finally:
        made.end()


def create(brokers: Brokers) -> None:
    request = M.CreateTopicsRequest
    given = [(1, 2, 3), (2, 3, 1)]
    rows = [
        request.CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(given)
    ]
    config = request.CreatableTopicConfig(name="min.insync.replicas", value="2")
    topic = request.CreatableTopic(
        name="t", num_partitions=-1, replication_factor=-1, assignments=tuple(rows), configs=(config,)
    )
    assert brokers.ask("CreateTopicsRequest", 7, request(topics=(topic,))).topics[0].error_code == 0


@pytest.mark.parametrize("release", RELEASES)
def test_what_javas_clients_see(brokers: Brokers, release: str) -> None:
    assert java(release, PROGRAM, brokers.bootstrap, "t") == SEEN


def test_kafkas_own_tools(brokers: Brokers) -> None:
    release, server = RELEASES[0], ("--bootstrap-server", brokers.bootstrap)
    topics = java(release, "org.apache.kafka.tools.TopicCommand", *server, "--describe", "--topic", "t")
    assert "PartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2" in topics
    assert "Partition: 0\tLeader: 2\tReplicas: 1,2,3\tIsr: 2,3" in topics
    dirs = java(release, "org.apache.kafka.tools.LogDirsCommand", *server, "--describe", "--broker-list", "1")
    (found,) = json.loads(dirs[dirs.index("{") :])["brokers"]
    assert {one["logDir"][-1]: one["error"] is None for one in found["logDirs"]} == {"a": False, "b": True}
    configs = ("kafka.admin.ConfigCommand", *server, "--entity-type", "topics", "--entity-name", "t")
    java(release, *configs, "--alter", "--add-config", "flush.ms=77")
    found = java(release, *configs, "--describe")
    assert all(f"{config} sensitive=false" in found for config in ("min.insync.replicas=2", "flush.ms=77"))
