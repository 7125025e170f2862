"""Kafka's own topics through Spark's Kafka connector: what a real broker wrote, in columns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.values import ErrorCode
from tests.broker.apis.topics.test_topics import row
from tests.conftest import ROOT
from tests.interop.kafka import need, real_cluster, spark_connector

M = kwire.messages
RELEASE = "4.4.0"
# A session of its own, for the connector must be there when the JVM starts.
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from kwire.spark import from_kwire, register
from tests.spark.conftest import SETTINGS

place, jars, checkpoint = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.jars", jars)
for name, value in SETTINGS.items():
    builder = builder.config(name, value)
# With its newer way to find offsets, the connector passes over Kafka's own topics and says nothing.
builder = builder.config("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true")
spark = builder.getOrCreate()
source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", place)
records = source.option("subscribe", "__consumer_offsets,__transaction_state").option("startingOffsets", "earliest")
rows = records.load().select(
    "topic",
    from_kwire("key", "OffsetCommitKey").alias("asked"),
    from_kwire("value", "OffsetCommitValue").alias("committed"),
    from_kwire("key", "TransactionLogKey").alias("named"),
    from_kwire("value", "TransactionLogValue").alias("transaction"),
)
query = rows.writeStream.format("memory").queryName("found").option("checkpointLocation", checkpoint)
query.trigger(availableNow=True).start().awaitTermination()
offsets = spark.sql(
    "select asked.group, asked.topic, asked.partition, committed.offset, committed.metadata from found "
    "where topic = '__consumer_offsets' and asked is not null"
)
transactions = spark.sql(
    "select named.transactional_id, transaction.transaction_timeout_ms, transaction.transaction_status from found "
    "where topic = '__transaction_state'"
)
print(json.dumps([[list(row) for row in df.collect()] for df in (offsets, transactions)]))
"""


def test_offsets_and_transactions_of_a_real_broker(tmp_path: Path) -> None:
    need("java", "mvn")
    jars = spark_connector()
    with real_cluster(RELEASE, tmp_path / "kafka", 1, "a") as facts:
        place = f"127.0.0.1:{facts['brokers'][0]['port']}"
        with BrokerConnection(address(place), timeout=180) as broker:
            _commit(broker)
            _begin_transaction(broker)
        command = [sys.executable, "-c", PROGRAM, place, ",".join(jars), str(tmp_path / "checkpoint")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(command, env=environment, cwd=ROOT, timeout=180, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
    offsets, transactions = json.loads(done.stdout.splitlines()[-1])
    assert sorted(offsets) == [["readers", "payments", 0, 42, "first"], ["readers", "payments", 1, 7, ""]]
    assert transactions == [["tx-1", 50_000, 0]]


def _commit(broker: BrokerConnection) -> None:
    """Commit offsets of two partitions, as a consumer does that assigns itself."""
    made = _ask(broker, "CreateTopicsRequest", 5, M.CreateTopicsRequest(topics=[row("payments", 2, 1)]))
    assert [one.error_code for one in made.topics] == [0]
    request = M.OffsetCommitRequest
    partitions = [
        request.OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=text)
        for index, offset, text in ((0, 42, "first"), (1, 7, ""))
    ]
    topic = request.OffsetCommitRequestTopic(name="payments", partitions=partitions)

    def committed() -> bool:
        answer = _ask(broker, "OffsetCommitRequest", 8, request(group_id="readers", topics=[topic]))
        return not any(one.error_code for topic in answer.topics for one in topic.partitions)

    _until_coordinated(broker, "readers", 0, committed)


def _begin_transaction(broker: BrokerConnection) -> None:
    """Have a transactional id written down."""
    request = M.InitProducerIdRequest(transactional_id="tx-1", transaction_timeout_ms=50_000)
    _until_coordinated(
        broker, "tx-1", 1, lambda: _ask(broker, "InitProducerIdRequest", 4, request).error_code == ErrorCode.NONE
    )


def _until_coordinated(broker: BrokerConnection, key: str, kind: int, done: Callable[[], bool]) -> None:
    """Ask again while the topic of the coordinators is being made."""
    deadline = time.monotonic() + 60
    while True:
        found = _ask(broker, "FindCoordinatorRequest", 3, M.FindCoordinatorRequest(key=key, key_type=kind))
        if found.error_code == ErrorCode.NONE and done():
            return
        assert time.monotonic() < deadline, f"nobody coordinates {key}"
        time.sleep(0.2)


def _ask(broker: BrokerConnection, name: str, version: int, message: Any) -> Any:
    answer = broker.ask(kwire.codec(name, version), message)
    assert answer is not None
    return answer.message
