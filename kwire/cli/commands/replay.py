"""`kwire replay`: plays the recording of a failed test against fresh brokers, and shows where answers differ."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...errors import DumpError
from ...render.escaping import escape_line, json_text
from ...render.value_text import count_text
from ...testing.replay.player import PlayedRequest, ReplayResult, replay
from ...testing.replay.recording import HINT, Recording
from ..terminal.remarks import remark

EXAMPLES = """\
  kwire replay test_orders.kwire.zip           where answers differ
  kwire replay test_orders.kwire.zip --all     every request, with its outcome
  kwire replay test_orders.kwire.zip -w x.pcap     write the frames, and play

pytest with kwire's plugin writes a recording for each failed test that runs
kwire.testing.Kafka, and prints its name; Kafka.save_recording writes one, too.
It has frames, operations of the test, configuration and seeds. The brokers of
the replay are in memory, and their clock is that of the recording.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument("--all", action="store_true", help="print every request, not only those with other answers")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-w", "--write", metavar="FILE", help="write the recorded frames as a pcap file")


def run(options: argparse.Namespace) -> int:
    """Play. Returns 1 if an answer differs."""
    recording = Recording.read(options.file)
    if options.write:
        Path(options.write).write_bytes(recording.capture)
    try:
        result = replay(recording)
    except ValueError as error:  # a cluster that cannot be
        raise DumpError(f"a recording that cannot be played: {error}", file=options.file, hint=HINT) from None
    _show(recording, result, options)
    different = len(result.different)
    compared = sum(request.is_open and request.recorded is not None for request in result.requests)
    counts = f"{count_text(len(result.requests), 'request')} played, {count_text(compared, 'answer')} compared"
    remark(f"{counts}, {different} differ" if different else f"{counts}, none differs")
    return 1 if different else 0


def _show(recording: Recording, result: ReplayResult, options: argparse.Namespace) -> None:
    shown = result.requests if options.all else result.different
    if options.json:
        rows = [
            {
                "request": request.number,
                "api": request.api,
                "version": request.version,
                "clientId": request.client_id,
                "broker": request.broker,
                "differences": request.differences(),
            }
            for request in shown
        ]
        print(json_text({"kwire": 1, "test": recording.test, "remarks": result.remarks, "requests": rows}))
        return
    for text in ([f"recorded for {recording.test}"] if recording.test else []) + result.remarks:
        remark(escape_line(text))
    for request in shown:
        print(escape_line(f"{request}{'' if request.differences() else _outcome(request)}"))
        for line in request.differences():
            print(escape_line(f"  {line}"))


def _outcome(request: PlayedRequest) -> str:
    return ": the same answer" if request.is_open and request.recorded is not None else ": nothing to compare"
