"""The consumer assignors beside Kafka's own, warm, in one run.

    python -m benchmarks.cluster.assignors [PARTITIONS] [MEMBERS]

Java's part needs a JDK from 17 on and Maven, which fetches kafka-clients into a temporary folder; without them it is
named as missing. Both sides make the same groups and print a digest of the answer, which must be the same.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

from kwire.cluster.assignors import (
    Member,
    assign_cooperative,
    assign_range,
    assign_round_robin,
    assign_sticky,
    member_of,
)
from kwire.cluster.assignors.members import Assignment
from kwire.cluster.java.hash_order import utf16
from kwire.protocol.nested import (
    StickyUserData,
    assignment_of,
    decode_sticky_user_data,
    decode_subscription,
    encode_sticky_user_data,
    encode_subscription,
    subscription_of,
)

KAFKA = "4.4.0"
JARS = (f"org.apache.kafka:kafka-clients:{KAFKA}", "org.slf4j:slf4j-api:1.7.36")
TOPICS, RACKS, REPEATS = 100, 5, 5
PATIENCE = 40.0  # seconds for Kafka's rounds of one case; its general algorithm can take minutes
ASSIGNORS = {
    "range": assign_range,
    "roundrobin": assign_round_robin,
    "sticky": assign_sticky,
    "cooperative-sticky": assign_cooperative,
}
# assignor, shape of the group
CASES = [
    ("range", "same"),
    ("range", "mixed"),
    ("roundrobin", "same"),
    ("roundrobin", "mixed"),
    ("sticky", "same"),
    ("sticky", "same-leave"),
    ("sticky", "mixed"),
    ("sticky", "mixed-leave"),
    ("cooperative-sticky", "same-leave"),
    ("cooperative-sticky", "mixed-leave"),
]
Topics = dict[str, dict[int, list[str | None]]]


def topics_of(partitions: int, racks: int) -> Topics:
    nodes = [f"rack{node % racks}" if racks else None for node in range(5)]
    return {
        f"topic-{topic}": {
            number: [nodes[(number + topic) % 5], nodes[(number + topic + 1) % 5]]
            for number in range(partitions // TOPICS)
        }
        for topic in range(TOPICS)
    }


def group_of(shape: str, members: int, racks: int) -> list[Member]:
    every = [f"topic-{topic}" for topic in range(TOPICS)]
    return [
        Member(
            f"consumer-group-{number}-{number * 7919 % 100003:x}",
            every[: TOPICS // 2] if shape.startswith("mixed") and number % 2 == 0 else every,
            f"rack{number % racks}" if racks else None,
        )
        for number in range(members)
    ]


def later(members: list[Member], first: Assignment, cooperative: bool) -> list[Member]:
    """The group after its first rebalance, when one in ten members has left; read from bytes, as a leader reads it."""
    return [
        as_read(one, first[one.member_id], cooperative) for one in members if int(one.member_id.split("-")[2]) % 10 != 3
    ]


def as_read(member: Member, partitions: list[tuple[str, int]], cooperative: bool) -> Member:
    sent = subscription_of(member.topics, owned=partitions if cooperative else (), generation=1, rack=member.rack)
    read = decode_subscription(encode_subscription(sent)).message
    owned = assignment_of(partitions).assigned_partitions
    user_data = None if cooperative else decode_sticky_user_data(encode_sticky_user_data(StickyUserData(owned, 1)))
    return member_of(member.member_id, read, user_data=user_data)


def digest(answer: Assignment) -> str:
    crc = 0
    for member_id in sorted(answer, key=utf16):
        crc = crc32("".join([member_id, *(f" {topic}/{number}" for topic, number in answer[member_id])]).encode(), crc)
    return f"{crc:08x}"


def ours(assignor: str, shape: str, racks: int, partitions: int, members: int) -> tuple[float, str]:
    assign: Callable[..., Assignment] = ASSIGNORS[assignor]
    topics, group = topics_of(partitions, racks), group_of(shape, members, racks)
    if shape.endswith("leave"):
        group = later(group, assign(topics, group), assignor == "cooperative-sticky")
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        answer = assign(topics, group)
        times.append(time.process_time() - start)
    return statistics.median(times), digest(answer)


def built(folder: Path) -> str:
    """Fetch Kafka and compile the clock; return what is missing."""
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    commands = [["mvn", "-q", "-B", copy, f"-Dartifact={jar}", f"-DoutputDirectory={folder}"] for jar in JARS]
    source = Path(__file__).with_name("AssignorClock.java")
    commands.append(["javac", "-nowarn", "-cp", f"{folder}/*", "-d", str(folder), str(source)])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if done.returncode:
            return f"{command[0]} failed: {(done.stdout + done.stderr).strip()[:200]}"
    return ""


def kafkas(folder: Path, assignor: str, shape: str, racks: int, partitions: int, members: int) -> tuple[float, str]:
    rounds = 2 if shape.startswith("mixed") and "sticky" in assignor else 16
    words = [assignor, shape, str(racks), str(TOPICS), str(partitions // TOPICS), str(members), str(rounds)]
    command = ["java", "-cp", f"{folder}:{folder}/*", "AssignorClock", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return PATIENCE / rounds, ""
    seconds, found = done.stdout.split()
    return float(seconds), found


def main() -> None:
    partitions, members = (*map(int, sys.argv[1:3]), *(100_000, 500)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        missing = built(folder)
        against = f"Java's part is missing: {missing}" if missing else f"beside Kafka {KAFKA}, warm"
        print(f"{partitions:,} partitions of {TOPICS} topics, {members} members; {against}. Seconds, medians")
        heads = ("kwire", 8), ("Kafka", 8), ("ratio", 7), ("4x", 8), ("ratio", 7)
        print(f"{'assignor':<20}{'group':<14}{'racks':<7}" + "".join(f"{head:>{width}}" for head, width in heads))
        for assignor, shape in CASES:
            for racks in (0, RACKS):
                once, found = ours(assignor, shape, racks, partitions, members)
                more, _ = ours(assignor, shape, racks, 4 * partitions, members)
                line = f"{assignor:<20}{shape:<14}{racks or '-':<7}{once:8.3f}"
                if missing:
                    print(f"{line}{'-':>8}{'-':>7}{more:8.3f}{more / once:7.1f}  not compared")
                    continue
                java, theirs = kafkas(folder, assignor, shape, racks, partitions, members)
                compared = f"{java:8.3f}{once / java:7.2f}"
                if not theirs:  # Java was stopped before it had an answer
                    compared = f"{f'>{java:.0f}':>8}{f'<{once / java:.2f}':>7}"
                same = "the same" if found == theirs else f"DIFFERS: {found} {theirs}"
                print(f"{line}{compared}{more:8.3f}{more / once:7.1f}  {same if theirs else '-'}", flush=True)


if __name__ == "__main__":
    main()
