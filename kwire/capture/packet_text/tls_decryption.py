"""Decrypts the TLS connections of a capture with a key log (SSLKEYLOGFILE), by tshark."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ...errors import DumpError
from ...protocol import Frame
from .followed_streams import parse_followed_streams, read_stream_frames

MOST_DECRYPTED = 1 << 28  # bytes of a capture: tshark writes decrypted data as text, which is held in memory
MOST_CONNECTIONS = 10_000  # each is an argument of tshark


def decrypt_tls(path: str, keys: str | None = None) -> tuple[str, Iterator[Frame]]:
    """Decrypt the TLS connections of a capture with tshark (Wireshark); no library does this.

    The connections are in the order of their first bytes' times.

    Args:
        path: a capture that has the beginning of each connection.
        keys: a file of keys, as SSLKEYLOGFILE names one; None if the keys are in the capture, a pcapng.

    Returns:
        A description of the decrypted data, and the frames.

    Raises:
        DumpError: tshark is missing, the capture has no TLS, or no key matches.
        OSError: a file cannot be read.
    """
    capture = Path(path).resolve(strict=True)
    key_options = [] if keys is None else ["-o", f"tls.keylog_file:{_checked_keys(keys)}"]
    if capture.stat().st_size > MOST_DECRYPTED:
        raise DumpError(
            f"more than {MOST_DECRYPTED >> 20} MiB to decrypt", file=path, hint="cut the capture with editcap"
        )
    stream_numbers = _run_tshark(path, ["-r", str(capture), "-Y", "tls", "-T", "fields", "-e", "tcp.stream"])
    numbers = sorted(set(map(int, stream_numbers.split())))
    if not numbers:
        raise DumpError("there is no TLS in this capture", file=path, hint="leave out --keylog")
    if len(numbers) > MOST_CONNECTIONS:
        raise DumpError(f"more than {MOST_CONNECTIONS} TLS connections", file=path, hint="cut the capture with editcap")
    follow = [word for number in numbers for word in ("-z", f"follow,tls,yaml,{number}")]
    text = _run_tshark(path, ["-r", str(capture), *key_options, "-q", *follow])
    streams = [stream for stream in parse_followed_streams(text, path) if stream.portions]
    streams.sort(key=lambda stream: stream.portions[0][2] or 0.0)  # tshark prints them in the order of its release
    what = f"{len(numbers)} TLS connection{'s' * (len(numbers) != 1)}"
    if not streams:
        hint = "the keys must be of these sessions, and the capture must hold their beginning"
        raise DumpError(f"the keys of {keys or 'this file'} decrypt none of {what}", file=path, hint=hint)
    part = what if len(streams) == len(numbers) else f"{len(streams)} of {what}"
    return f"{part}, decrypted by tshark", read_stream_frames(streams, path)


def _checked_keys(keys: str) -> Path:
    """Return the path of a file of keys. Raises DumpError if it has none."""
    key_file = Path(keys).resolve(strict=True)
    if not any(line and not line.startswith("#") for line in key_file.read_text("utf-8", "replace").splitlines()):
        raise DumpError("there are no keys in this file", file=keys, hint="clients write them with SSLKEYLOGFILE")
    return key_file


def _run_tshark(path: str, arguments: list[str]) -> str:
    """Run tshark; return its output."""
    program = shutil.which("tshark")
    if program is None:
        hint = "install Wireshark's tshark, or run the command of kwire help tls where it is"
        raise DumpError("--keylog needs tshark, which is not on the PATH", file=path, hint=hint)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, errors="replace")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise DumpError(f"tshark fails: {last}", file=path)
    return done.stdout
