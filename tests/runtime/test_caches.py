"""First use from several threads at once, and in processes that were forked meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import pytest

import kwire
from kwire.runtime.caches import once, once_attribute
from kwire.runtime.forks import LOCK
from tests.conftest import ROOT

# Eight threads ask for everything at once; then one message has one class, one codec, and both executions agree on it.
RACE = """
import sys, threading
import kwire
from kwire.schema.catalog import catalog_for
from kwire.values import kind, kinds

THREADS = 8
sys.setswitchinterval(1e-6)
starting = threading.Barrier(THREADS)
seen, failed = [], []

def use_everything():
    starting.wait()
    try:
        catalog, found = catalog_for(), {}
        for name in catalog.names()[:: int(sys.argv[1])]:
            for version in catalog.spec(name).versions:
                codec = kwire.codec(name, version)
                made = getattr(kwire.messages, name)
                data = codec.encode(made())
                assert codec.encode(codec.decode(data)) == data
                codec.json_text(data)
                found[name, version] = codec, made, codec.decode(data)
        found["kinds"] = [kind(name) for name in kinds()]
        found["early"] = kwire.messages.kafka_3_6.ConsumerGroupHeartbeatRequest, kwire.release("3.9").table
        seen.append(found)
    except BaseException as error:
        failed.append(error)
        raise

threads = [threading.Thread(target=use_everything) for _ in range(THREADS)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failed, failed
first = seen[0]
for found in seen:
    for key, value in found.items():
        if isinstance(key, str):
            assert all(one is other for one, other in zip(value, first[key], strict=True)), key
            continue
        codec, made, message = value
        assert codec is first[key][0] is kwire.codec(*key), key
        assert made is first[key][1] is codec.message_class is getattr(kwire.messages, key[0]), key
        assert message == first[key][2] == codec.decode(codec.encode(message)), key
print(len(first) - 2, "equal")
"""

# A child must not inherit a lock that another thread held.
FORK = """
import os, sys, threading, time
import kwire
from kwire.runtime.forks import LOCK
from kwire.runtime.caches import once

sys.setswitchinterval(1e-6)
slow = once(lambda name: time.sleep(0.05) or kwire.codec(name, 0))
names = ["ApiVersionsRequest", "FetchRequest", "ProduceRequest", "MetadataRequest"]
threads = [threading.Thread(target=lambda: [slow(name) for name in names]) for _ in range(2)]
[thread.start() for thread in threads]
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        codecs = [kwire.codec(name, 0) for name in [*names, "ListOffsetsRequest"]]
        ok = all(codec.decode(codec.encode(codec.message_class())) is not None for codec in codecs)
        os._exit(0 if ok and LOCK.acquire(blocking=False) else 1)
    children.append(child)
[thread.join() for thread in threads]
with LOCK:  # a fork while this very thread holds it
    child = os.fork()
    if child == 0:
        codec = kwire.codec("JoinGroupRequest", 5)
        os._exit(0 if codec.message_class is kwire.messages.JoinGroupRequest else 1)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", program, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("step", [30, pytest.param(1, marks=pytest.mark.ci)])
def test_threads_that_use_everything_first_get_the_same_things(step: int) -> None:
    count, equal = run(RACE, str(step)).split()
    assert equal == "equal"
    assert step > 1 or count == "897"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_while_another_thread_makes_something_leaves_no_held_lock() -> None:
    assert run(FORK) == "[0, 0, 0, 0, 0]"


def test_what_was_made_is_found_without_the_lock() -> None:
    codec = kwire.codec("MetadataRequest", 4)
    data = codec.encode(codec.message_class())
    codec.decode(data), codec.to_json(codec.decode(data)), kwire.messages.MetadataRequest
    found: list[Any] = []

    def use() -> None:
        again = kwire.codec("MetadataRequest", 4)
        found.append((again, again.encode(again.decode(data)), again.to_json(again.decode(data)), again.message_class))

    with LOCK:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join(10)
        assert found == [(codec, data, {"topics": [], "allowAutoTopicCreation": True}, kwire.messages.MetadataRequest)]


def test_an_error_is_not_kept() -> None:
    asked: list[str] = []

    @once
    def make(name: str) -> str:
        asked.append(name)
        if len(asked) == 1:
            raise ValueError(name)
        return name

    with pytest.raises(ValueError, match="a"):
        make("a")
    assert (make("a"), make("a"), asked) == ("a", "a", ["a", "a"])


def test_an_attribute_is_made_once_for_each_object() -> None:
    class Thing:
        @once_attribute
        def parts(self) -> list[int]:
            """Parts."""
            return []

    one, other = Thing(), Thing()
    assert one.parts is one.parts
    assert one.parts is not other.parts
    assert Thing.parts.__doc__ == "Parts."
