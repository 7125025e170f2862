"""FindCoordinator."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.broker import codes
from tests.broker.groups.driving import World


@pytest.mark.parametrize("version", range(7))
def test_every_version(version: int) -> None:
    world = World(count=3)

    def find(key: str, kind: int = 0) -> tuple[int, int, str, int]:
        kinds: dict[str, Any] = {"key_type": kind} if version >= 1 else {}
        if version < 4:
            found = world.ask("FindCoordinator", version, key=key, **kinds)
        else:
            found, *_ = world.ask("FindCoordinator", version, coordinator_keys=(key, "x", key), **kinds).coordinators
            assert found.key == key
        return found.error_code, found.node_id, found.host, found.port

    node = find("g")[1]
    assert find("g") == (0, node, "localhost", 9092 + node)
    assert {find(f"g{number}")[1] for number in range(20)} == {1, 2, 3}
    if version >= 1:
        assert find("g", 1) == find("g")  # a transactional id
        assert find("g", 2) == (codes.INVALID_REQUEST, -1, "", -1)  # a share group
    nodes = world.cluster.controller.nodes
    world.cluster.fail(*nodes[node].log_dirs)
    assert find("g")[1] == node % 3 + 1
    world.cluster.fail(*(one for other in nodes.values() for one in other.log_dirs))
    assert find("g") == (codes.COORDINATOR_NOT_AVAILABLE, -1, "", -1)
