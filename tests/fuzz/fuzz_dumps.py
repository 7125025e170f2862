"""Files of any format: they are read, or refused with one error that names the file; compressed ones too."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import kwire
from kwire.capture.znode_files import read_znodes
from kwire.errors import DumpError, KwireError, ZnodeError
from kwire.render.json_objects.frame_json import json_line
from tests.capture.logs.building import LOG
from tests.conftest import ROOT

FOLDER = TemporaryDirectory(prefix="kwire-fuzz-")
NAMES = ["dump", "00000000000000000000.index", "00000000000000000000.timeindex", "leader-epoch-checkpoint"]
NAMES += ["00000000000000000005.snapshot", "partition.metadata", "00000000000000000000.txnindex", "meta.properties"]


def fuzz_dumps(data: bytes) -> None:
    """Open a file; the first byte chooses its name, which identifies files beside segments."""
    path = Path(FOLDER.name) / NAMES[data[0] % len(NAMES) if data else 0]
    path.write_bytes(data[1:])
    try:
        with kwire.open_dump(path) as dump:
            for item in (dump.disk.items if dump.disk else dump.batches) or ():
                assert item is not None
            if dump.disk is None and dump.batches is None:
                for result in kwire.decode_frames(dump.frames):
                    json_line(result)
    except DumpError as error:
        assert error.file == str(path) and error.problem
        assert "\n" not in str(error)
    try:
        read_znodes(path)
    except (DumpError, ZnodeError) as error:
        assert isinstance(error, KwireError)


def seeds() -> Iterator[bytes]:
    """Yield files of each format, as they are and compressed."""
    frames = (ROOT / "fixtures/dumps/kafka-4.4-metadata.bin").read_bytes()
    lines = "".join(f"{json_line(result)}\n" for result in kwire.decode_frames([kwire.Frame(frames[:54])])).encode()
    logged = b'[2026-01-01 00:00:00] DEBUG Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":18,'
    logged += b'"requestApiVersion":0,"correlationId":1,"clientId":"c"},"request":{}}\n'
    for content in (frames, lines, logged, frames.hex(" ").encode(), LOG, b'{"/controller_epoch": "7"}'):
        yield b"\0" + content
        for compress in (gzip.compress, bz2.compress, lzma.compress):
            yield b"\0" + compress(content)
    for number, name in enumerate(NAMES):
        for path in sorted((ROOT / "fixtures/logs").rglob(f"*{Path(name).suffix or name}"))[:2]:
            yield bytes([number]) + path.read_bytes()[:2000]


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_dumps, seeds())
