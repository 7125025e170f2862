"""What tshark decodes is counted from its JSON, whose frames of one packet have the same key."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.captures import tshark_coverage
from tests.capture.building import Conversation, capture
from tests.conftest import ROOT

PACKETS = """\
[
  {
    "_source": {
      "layers": {
        "kafka": {
          "kafka.request_key": "3",
          "kafka.request.version": "9",
          "in it": {
            "kafka.request_key": "99"
          }
        },
        "kafka": {
          "kafka.request_key": "1",
          "kafka.request.version": "17",
          "in it": {
            "_ws.malformed": ""
          }
        }
      }
    }
  },
  {
    "_source": {
      "layers": {
        "kafka": {
          "kafka.response_key": "3",
          "kafka.response.version": "9"
        },
        "_ws.malformed": "[Malformed Packet: Kafka]"
      }
    }
  },
  {
    "_source": {
      "layers": {
        "kafka": {
          "kafka.len": "4",
          "kafka.request_missing": ""
        },
        "kafka": {
          "kafka.response_key": "18",
          "kafka.response.version": "0"
        }
      }
    }
  }
]
"""


def test_the_frames_of_tshark() -> None:
    seen = tshark_coverage.seen_in(PACKETS.splitlines(keepends=True))
    assert seen.decoded == {("request", 3, 9): 1, ("response", 18, 0): 1}
    assert seen.others == {"malformed": 2, "answers to requests that it did not find": 1}


def test_both_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = Conversation().open()
    for number in range(3):
        conversation.ask(number)
    path = tmp_path / "small.pcap"
    path.write_bytes(capture(conversation.close().segments))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ours = tshark_coverage.by_kwire(path)
    assert ours.decoded == {("request", 3, 1): 3, ("response", 3, 1): 3}
    theirs = tshark_coverage.Seen(ours.decoded - Counter({("response", 3, 1): 2}), ours.others)
    theirs.decoded["request", 999, 0] = 1
    monkeypatch.setattr(tshark_coverage, "by_tshark", lambda path: theirs)
    assert list(tshark_coverage.report(path)) == [
        "both decode 4 frames of small.pcap; kwire 6, tshark 5",
        "  kwire alone: 2 of Metadata v1 responses",
        "  tshark alone: 1 of api key 999 v0 requests",
    ]
