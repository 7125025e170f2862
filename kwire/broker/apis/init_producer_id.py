"""InitProducerId: ids for idempotent producers. There are no transactions."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext

_HIGHEST_EPOCH = 2**15 - 2


def init_producer_id(request: RequestContext) -> Any:
    """Answer InitProducerId: a new id, or for a producer that names its own the next epoch (KIP-360)."""
    response, asked = messages.InitProducerIdResponse, request.message
    if asked.transactional_id is not None:
        return response(error_code=codes.INVALID_REQUEST, producer_id=-1, producer_epoch=-1)
    if asked.producer_id >= 0 and 0 <= asked.producer_epoch < _HIGHEST_EPOCH:
        return response(producer_id=asked.producer_id, producer_epoch=asked.producer_epoch + 1)
    request.cluster.producer_ids += 1
    return response(producer_id=request.cluster.producer_ids, producer_epoch=0)
