"""Memory of `kwire serve` with many idle connections, and how long others wait meanwhile.

`python -m benchmarks.broker.idle_connections [COUNT]` opens connections (10,000 unless given), asks ApiVersions once on
each, and prints the resident memory of the server before and after, per connection, and the median time of a Metadata
request on one more connection without and with them, in one run.
"""

from __future__ import annotations

import re
import resource
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import kwire
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection

M = kwire.messages
REQUESTS = 500


def resident(pid: int) -> float:
    """Return the resident memory of a process, in MB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text("utf-8"))
    assert found is not None
    return int(found[1]) / 1000


def latency(place: Address) -> float:
    """Return the median time of a request, in milliseconds."""
    codec, times = kwire.codec("MetadataRequest", 9), []
    with BrokerConnection(place, timeout=60) as connection:
        for _ in range(REQUESTS):
            begin = time.perf_counter()
            connection.ask(codec, M.MetadataRequest(topics=None))
            times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1000


def opened(place: Address, count: int) -> list[socket.socket]:
    """Open connections, each of which asks once."""
    request = kwire.encode_request(M.ApiVersionsRequest(), 0, correlation_id=1)
    clients = []
    for number in range(count):
        # addresses 127.0.0.1 to 127.0.0.9, for one alone has not enough ports
        clients.append(socket.create_connection(place, 60, (f"127.0.0.{1 + number % 9}", 0)))
        clients[-1].sendall(request)
        if number % 500 == 499:
            for client in clients[-500:]:
                client.recv(1 << 16)
    return clients


def main(count: int) -> None:
    """Serve, open, measure."""
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (count + 1000, max(count + 1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    )
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            place = address(re.findall(r"127\.0\.0\.1:\d+", process.stderr.readline())[0])
            alone = latency(place)
            before = resident(process.pid)
            clients = opened(place, count)
            after = resident(process.pid)
            print(f"{count} connections: {before:.0f} -> {after:.0f} MB, {(after - before) / count * 1000:.1f} kB each")
            print(f"Metadata, median of {REQUESTS}: {alone:.2f} ms without, {latency(place):.2f} ms with them")
            for client in clients:
                client.close()
        finally:
            process.kill()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
