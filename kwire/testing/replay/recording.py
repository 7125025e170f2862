"""A recording: what a cluster for tests was asked and what it answered, in one file.

The file is a ZIP archive of `recording.json` (the cluster, its seeds, the operations of the test) and `frames.pcap`.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from ... import __version__
from ...broker.configs.definitions import BROKER, definitions_of
from ...broker.server.operation_journal import PerformedOperation
from ...errors import DumpError
from ...protocol import Frame
from ...values import ConfigType
from ..cluster_options import ClusterOptions

FORMAT = 1
FRAMES, FACTS = "frames.pcap", "recording.json"
MOST_BYTES = 1 << 29  # of a part of the file, unpacked: four times the frames that a broker keeps
HINT = "kwire.testing.Kafka.save_recording writes recordings, and so does pytest for a failed test"
# What a file does not have: passwords, keys, and paths of this machine; and what is of no use without them.
LEFT_OUT = ("users", "sasl_mechanisms", "max_reauth", "acls", "super_users", "tls", "directory")


@dataclass(frozen=True)
class Recording:
    """What a cluster was asked and what it answered.

    Attributes:
        options: the description of the cluster, without users, ACLs, TLS and directory.
        left_out: the arguments of the cluster that are not in the file.
        operations: what the test did to the cluster, in order.
        capture: the frames, as a pcap file.
        missing: how many frames there were before the first one.
        is_redacted: whether secrets were removed from the frames.
        ports: the port of each broker, by its id.
        test: the test that failed; empty if none did.
        version: the version of kwire that wrote the file.
    """

    options: ClusterOptions
    operations: tuple[PerformedOperation, ...]
    capture: bytes
    ports: Mapping[int, int]
    left_out: tuple[str, ...] = ()
    missing: int = 0
    is_redacted: bool = False
    test: str = ""
    version: str = field(default=__version__)

    @classmethod
    def of(cls, options: ClusterOptions, facts: Mapping[str, Any], capture: bytes, test: str = "") -> Recording:
        """Return the recording of a running cluster.

        Args:
            options: its description.
            facts: the result of the operation `recording` of its control.
            capture: the result of the operation `capture`.
            test: the test that failed.
        """
        given = tuple(name for name in LEFT_OUT if getattr(options, name) != getattr(ClusterOptions(), name))
        return cls(
            _without_secrets(options),
            _operations(facts["operations"]),
            capture,
            {int(node_id): port for node_id, port in facts["ports"].items()},
            given,
            facts["missing"],
            facts["redacted"],
            test,
        )

    def frames(self) -> Iterator[Frame]:
        """Yield the frames in the order in which they were read and written; raises DumpError if they are damaged."""
        from ...capture.open_dump import read_dump  # here: tests without recordings start sooner

        return read_dump(io.BytesIO(self.capture))

    def write(self, path: str | Path) -> None:
        """Write the file; raises OSError if it cannot be written."""
        options = {name: getattr(self.options, name) for name in _names()}
        facts = {
            "kwireRecording": FORMAT,
            "version": self.version,
            "test": self.test,
            "cluster": options,
            "leftOut": self.left_out,
            "missing": self.missing,
            "redacted": self.is_redacted,
            "ports": self.ports,
            "operations": self.operations,
        }
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            archive.writestr(FACTS, json.dumps(facts, indent=1))
            archive.writestr(FRAMES, self.capture)

    @classmethod
    def read(cls, path: str | Path) -> Recording:
        """Read a file.

        Args:
            path: the file.

        Raises:
            DumpError: it is no recording, or it is damaged.
            OSError: it cannot be read.
        """
        try:
            with ZipFile(path) as archive:
                facts = json.loads(_read_part(archive, FACTS))
                capture = _read_part(archive, FRAMES)
            if facts["kwireRecording"] != FORMAT:
                problem = f"a recording of format {facts['kwireRecording']!r}; this version of kwire reads {FORMAT}"
                raise DumpError(problem, file=str(path), hint="take the version of kwire that wrote it")
            return cls(
                ClusterOptions(**facts["cluster"]),
                _operations(facts["operations"]),
                capture,
                {int(node_id): int(port) for node_id, port in facts["ports"].items()},
                tuple(facts["leftOut"]),
                int(facts["missing"]),
                bool(facts["redacted"]),
                str(facts["test"]),
                str(facts["version"]),
            )
        except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise DumpError(f"this is no recording, or a damaged one: {error}", file=str(path), hint=HINT) from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            problem = f"a recording that cannot be understood: {type(error).__name__}: {error}"
            raise DumpError(problem, file=str(path), hint=HINT) from None


def _names() -> list[str]:
    return [name for name in ClusterOptions.__dataclass_fields__ if name not in LEFT_OUT]


def _without_secrets(options: ClusterOptions) -> ClusterOptions:
    known = definitions_of(BROKER, options.release)
    is_open = {name: name in known and known[name].type != ConfigType.PASSWORD for name in options.configs}
    kept = {name: getattr(options, name) for name in _names()}
    kept["configs"] = {name: value for name, value in options.configs.items() if is_open[name]}
    return ClusterOptions(**kept)


def _operations(rows: Any) -> tuple[PerformedOperation, ...]:
    operations = tuple(
        PerformedOperation(int(position), float(time), str(name), dict(arguments), tuple(members))
        for position, time, name, arguments, members in rows
    )
    if not all(isfinite(operation.time) for operation in operations):
        raise ValueError("an operation has no time")
    return operations


def _read_part(archive: ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise BadZipFile(f"{name} has more than {MOST_BYTES} bytes")
    return archive.read(name)
