"""Ids of producers."""

from __future__ import annotations

from typing import Any

from kwire.broker import codes
from tests.broker.served import M, cluster_of


def test_new_ids_and_new_epochs() -> None:
    cluster = cluster_of()

    def init(transactional_id: str | None = None, **fields: Any) -> tuple[int, int, int]:
        row = cluster.answer(1, M.InitProducerIdRequest(transactional_id, **fields), 4, now=0.0)
        return row.error_code, row.producer_id, row.producer_epoch

    code, first, epoch = init()
    assert (code, epoch) == (0, 0)
    assert init() == (0, first + 1, 0)
    assert init(producer_id=first, producer_epoch=0) == (0, first, 1)
    assert init(producer_id=first, producer_epoch=2**15 - 1) == (0, first + 2, 0)
    assert init(transactional_id="") == (codes.INVALID_REQUEST, -1, -1)
