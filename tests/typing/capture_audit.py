"""A report of failed requests in captures; each line with a mistake says so."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import assert_type

import kwire
from kwire import messages as M
from kwire.values import ErrorCode


def failures(path: Path) -> Counter[tuple[str, ErrorCode]]:
    found: Counter[tuple[str, ErrorCode]] = Counter()
    for result in kwire.decode_frames(kwire.read_dump(path), wanted=lambda header: header.api_keys == 0):  # mistake
        if isinstance(result, kwire.Undecodable):
            print(result.error.offset, result.error.paths, file=sys.stderr)  # mistake
        elif isinstance(result, kwire.Response) and isinstance(result.message, M.ProduceResponse):
            for topic in result.message.responses:
                for row in topic.partition_responses:
                    found[topic.name, ErrorCode(row.error_code)] += 1
                    found[topic.name, row.error_code] += 1  # mistake
        elif isinstance(result, kwire.Request):
            result.message.acks  # mistake
            assert_type(result.client.client_id, str | None)
    return found


def acks_of(frame: bytes) -> int:
    request = kwire.decode_request(frame, salvage="yes")  # mistake
    if not isinstance(request.message, M.ProduceRequest):
        raise ValueError(f"{request.api_name} v{request.api_version} has no acks")
    return request.message.acks


if __name__ == "__main__":
    for (topic, code), count in failures(sys.argv[1]).items():  # mistake
        print(topic, code.name, code.retriable, count)
