"""`kwire check`: checks that encoding each frame, and each batch of a log, again gives the same bytes, and that the
files beside the segments agree with them.

A file of a broker's disk is compared with the segments and folders that it refers to; the rules are in
`kwire.capture.logs.checks`.

`kwire diff`: prints the differences between two versions of a message, two releases or two dumps.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from ..capture.logs.batch_recognition import find_batch_end
from ..capture.logs.checks.check_disk_files import check_disk_file
from ..capture.logs.checks.inconsistency import Inconsistency
from ..capture.logs.disk_entry import DiskEntry
from ..capture.logs.disk_files import DiskFile, parse_base_offset
from ..capture.logs.log_batch import LogBatch, LogBytes
from ..capture.logs.segment_reader import SegmentReader
from ..capture.open_file import open_unpacked
from ..codecs import Codec, codec_in
from ..errors import EncodeError
from ..protocol import Request, Response, Result, Token, Undecodable
from ..protocol.frame_codec import encode_result
from ..records import RecordBatch
from ..records.record_layouts_and_checksums import BATCH
from ..render.differences import frame_differences
from ..render.line import unread_text
from ..render.schema_text import NOTHING, difference_lines
from ..render.style import Style, escape, json_text
from ..render.tree import title
from ..render.value_text import count_text
from ..schema.sensitive_fields import Hidden
from ..spec.catalog import Catalog, catalog_for
from ..spec.releases import Api, release
from .apis_and_errors import found_apis
from .filters import log_difference
from .inputs_and_output import Reading, catalog_of, dumps_in, masker, named_codecs, results
from .options import UsageError, add_colour, add_command, add_inputs, add_profile, add_secrets, named_release
from .terminal import style_for

_OF_ONE_SEGMENT = ("offset index", "time index", "transaction index")
_OF_THE_FOLDER = ("producer snapshot", "leader epochs", "quorum state")
_LEAVING = ("-delete", "-stray")  # folders of partitions that were moved off the broker; their epochs are cleared first
MOST = 1000  # differences shown for each file


def add_check(commands: Any, about: str) -> None:
    """Add `kwire check` and its options."""
    parser = add_command(
        commands,
        "check",
        about,
        "  kwire check dump.bin\n  kwire check --json a.bin b.hex\n"
        "  kwire check -r /var/lib/kafka/data   segments, indexes, checkpoints\n",
        check,
    )
    add_inputs(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object, with every difference")


def check(options: argparse.Namespace) -> int:
    """Print which frames and batches are not encoded to the same bytes, and errors in the files beside segments; then
    counts.

    Returns 1 if any difference was found.
    """
    counts, unread = Counter[str](), Counter[str]()
    found: list[dict[str, Any]] = []
    for item in _checked(options):
        if isinstance(item, Undecodable) and not item.is_failure:
            unread[item.error.code] += 1
            continue
        differences = _differences(item, options, counts)
        found += differences
        if not options.json:
            for difference in differences:
                print(escape("\n".join(_lines(difference))), flush=True)
    if options.json:
        print(json_text(_summary(counts, unread) | {"differences": found}))
    else:
        print("\n".join(_count_lines(counts, unread)))
    return 1 if found else 0


def _checked(options: argparse.Namespace) -> Iterator[Result | LogBatch | LogBytes | DiskFile]:
    reading = Reading(options, trace=True, sealed=False)
    for dump in dumps_in(options, logs=True):
        if dump.disk is not None:
            yield dump.disk
        else:
            yield from reading.items(dump)


def _differences(
    item: Result | LogBatch | LogBytes | DiskFile, options: argparse.Namespace, counts: Counter[str]
) -> list[dict[str, Any]]:
    """Return the differences found in an item, and count the item."""
    if isinstance(item, DiskFile):
        counts["files"] += 1
        found = [*islice(_disk_differences(item), MOST)]
        counts["wrong files"] += bool(found)
        return found
    if isinstance(item, LogBatch | LogBytes):
        counts["batches"] += isinstance(item, LogBatch)
        difference = log_difference(item)
        counts["wrong batches"] += difference is not None
    else:
        counts["frames"] += 1
        difference = _difference(item, options)
        counts["wrong frames"] += difference is not None
    return [] if difference is None else [difference]


def _disk_differences(disk: DiskFile) -> Iterator[dict[str, Any]]:
    for found in disk_differences(disk):
        yield {
            "file": disk.file,
            "what": disk.kind,
            "byte": found.position,
            "field": found.field,
            "reason": found.reason,
        }


def _summary(counts: Counter[str], unread: Counter[str]) -> dict[str, Any]:
    """Return the counts of --json; `exact` counts the frames and batches that were encoded to the same bytes."""
    members: dict[str, Any] = {"frames": counts["frames"]}
    members |= {name: counts[name] for name in ("batches", "files") if counts[name]}
    wrong = counts["wrong frames"] + counts["wrong batches"]
    members["exact"] = max(0, counts["frames"] + counts["batches"] - wrong)
    return members | ({"unread": dict(unread)} if unread else {})


def _count_lines(counts: Counter[str], unread: Counter[str]) -> Iterator[str]:
    files, frames, batches = counts["files"], counts["frames"], counts["batches"]
    if batches:
        what = f"{batches} batch{'es' * (batches != 1)}" + (f", {frames} frames" if frames else "")
        wrong = counts["wrong frames"] + counts["wrong batches"]
        yield f"{what}: {wrong} differences" if wrong else f"{what}: all encode to the same bytes"
    elif frames or not files or unread:
        left = f"; {unread_text(unread)}" if unread else ""
        wrong = counts["wrong frames"]
        yield f"{count_text(frames, 'frame')}: {frames - wrong} encoded to the same bytes, {wrong} not{left}"
    if files:
        wrong = counts["wrong files"]
        what = f"{count_text(files, 'file')} beside segments"
        yield f"{what}: {wrong} with differences" if wrong else f"{what}: no differences"


def _difference(result: Result, options: argparse.Namespace) -> dict[str, Any] | None:
    """Return where a frame first differs from its re-encoded bytes; None if they are equal."""
    source, safe = result.frame.source, masker(options)(result)
    common = {"file": source.file, "frame": source.frame, "offset": source.offset, "what": title(safe)}
    if isinstance(safe, Undecodable):
        return {**common, "byte": safe.error.offset, "field": safe.error.path, "reason": str(safe.error)}
    if not isinstance(result, Request | Response) or isinstance(safe, Token):
        return None  # a token is its own bytes
    data = result.frame.data
    try:
        again = encode_result(result, catalog_of(options))
    except EncodeError as error:
        return {**common, "byte": None, "field": error.path, "reason": str(error)}
    if again == data:
        return None
    pairs = enumerate(zip(data, again, strict=False))
    start = 0 if result.frame.bare else 4  # a different size follows from the other difference
    byte = next((at for at, (one, other) in pairs if at >= start and one != other), min(len(data), len(again)))
    span = next((span for span in result.spans if span.start <= byte < span.stop), None)
    faults = "; ".join(str(fault) for fault in safe.faults)
    words = [one[byte : byte + 8].hex(" ") if safe is result else str(Hidden(one[byte:])) for one in (data, again)]
    return {
        **common,
        "byte": byte,
        "field": span.path if span else "",
        "was": words[0],
        "again": words[1],
        "reason": faults or "a different encoding of the same values",
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['file']}: {found['what']}"
    if found.get("byte") is not None:
        yield f"  byte {found['byte']:#x} ({found['byte']}), field {found['field'] or 'after the last'}"
    if "was" in found:
        yield f"  in the dump: {found['was'] or 'nothing'}; encoded again: {found['again'] or 'nothing'}"
    yield f"  {found['reason']}"


def disk_differences(disk: DiskFile) -> Iterator[Inconsistency]:
    """Compare a file of a broker's disk with the segments beside it; without segments, check only its consistency.

    Args:
        disk: the file, see `Dump.disk`; its items are read.

    Yields:
        Differences, and undecodable bytes.

    Raises:
        OSError: a segment beside the file cannot be read.
    """
    path, unread = Path(disk.file), list[Inconsistency]()

    def entries() -> Iterator[DiskEntry]:
        for item in disk.items:
            if isinstance(item, DiskEntry):
                yield item
            elif item.error is not None:
                unread.append(Inconsistency(item.position, item.error.path, item.error.reason))

    batches = None if disk.file == "-" else _batches_beside(disk.kind, path)
    ends = _ends_beside(path) if disk.file != "-" and disk.kind not in _OF_ONE_SEGMENT + _OF_THE_FOLDER else {}
    for found in check_disk_file(disk.kind, entries(), batches, base=parse_base_offset(path.name), ends=ends):
        yield from unread
        unread.clear()
        yield found
    yield from unread


def _batches_beside(kind: str, path: Path) -> Iterator[RecordBatch] | None:
    if kind in _OF_ONE_SEGMENT:
        segments = [path.with_name(f"{path.name.partition('.')[0]}.log")]
    elif kind in _OF_THE_FOLDER and not path.absolute().parent.name.endswith(_LEAVING):
        segments = sorted(path.parent.glob("*.log"))
    else:
        return None
    found = [segment for segment in segments if segment.is_file()]
    return _batches(found) if found else None


def _batches(segments: list[Path]) -> Iterator[RecordBatch]:
    for segment in segments:
        with open_unpacked(segment) as opened:
            reader = SegmentReader()
            for portion in opened.portions():
                yield from (cut for cut in reader.feed(portion) if isinstance(cut, RecordBatch))
            yield from (cut for cut in reader.finish() if isinstance(cut, RecordBatch))


def _ends_beside(path: Path) -> dict[str, int]:
    """Return the log end offset of each folder beside a file, by folder name."""
    folders = (folder for folder in path.absolute().parent.iterdir() if folder.is_dir())
    last = {folder.name: max(folder.glob("*.log"), default=None) for folder in folders}
    return {name: _end(segment) for name, segment in last.items() if segment is not None}


def _end(segment: Path) -> int:
    """Return the end offset of a segment, from the headers of its batches."""
    end = parse_base_offset(segment.name)
    with segment.open("rb") as stream:
        while len(head := stream.read(BATCH.size)) >= 27:
            stop = find_batch_end(head, 0)
            if stop < 0:
                break
            delta = int.from_bytes(head[23:27], "big") if head[16] == 2 else 0
            end = int.from_bytes(head[:8], "big") + delta + 1
            stream.seek(stop - len(head), 1)
    return end


def diff_dumps(options: argparse.Namespace) -> int:
    """Print the differences between two dumps, then a count. Returns 1 if there are any, or a frame does not decode."""
    style = style_for(sys.stdout, options.color)
    more = {"named": None, "body": False, "hex": None, "profile": options.profile, "schemas": options.schemas}
    more["show_secrets"] = options.show_secrets
    sides = [results(argparse.Namespace(files=[name], **more), trace=True) for name in options.names]
    frames = differ = undecodable = 0
    for one, other in zip_longest(*sides):
        frames += 1
        undecodable += any(isinstance(side, Undecodable) and side.is_failure for side in (one, other))
        if one is None or other is None:
            differ += 1
            name = options.names[0] if other is None else options.names[1]
            print(escape(f"only in {name}: {title(one or other)}"))
            continue
        lines = list(frame_differences(one, other, style))
        if lines:
            differ += 1
            print(escape(f"{title(one)}\n{title(other)}" if title(one) != title(other) else title(one)))
            print("\n".join(lines), flush=True)
    print(f"{count_text(frames, 'frame')}: {frames - differ} the same, {differ} not")
    return 1 if differ or undecodable else 0


def add_diff(commands: Any, about: str) -> None:
    """Add `kwire diff` and its options."""
    parser = add_command(
        commands,
        "diff",
        about,
        "  kwire diff Metadata:9 Metadata:12\n  kwire diff one.bin two.bin\n"
        "  kwire diff --release 3.9 4.4\n  kwire diff --release 3.9 4.4 Fetch\n",
        diff,
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME[:VERSION]",
        help="two messages or apis, or two files; with --release one api",
    )
    parser.add_argument("--release", nargs=2, metavar=("A", "B"), help="two Kafka releases")
    add_secrets(parser)
    add_profile(parser)
    add_colour(parser)


def diff(options: argparse.Namespace) -> int:
    """Print the differences between two versions of a message, two releases or two dumps. Returns 1 if any exist."""
    if len(options.names) == 2 and not options.release and any(_is_input(name) for name in options.names):
        return diff_dumps(options)
    style = style_for(sys.stdout, options.color)
    if options.release:
        if len(options.names) > 1:
            raise UsageError("diff --release takes two releases, and at most one api")
        old, new = options.release
        lines = list(_release_lines(old, new, options.names, style))
    elif len(options.names) == 2:
        lines = list(_message_lines(options, style))
    else:
        raise UsageError("diff takes two of NAME:VERSION, two files, or --release A B")
    for line in lines:
        print(line)
    return 1 if any(line.startswith("  ") and line != NOTHING for line in lines) else 0


def _is_input(name: str) -> bool:
    return name == "-" or (Path(name).exists() and not Path(name).is_dir())  # also a pipe of the shell's


def _message_lines(options: argparse.Namespace, style: Style) -> Iterator[str]:
    catalog = catalog_of(options)
    sides = [{codec.spec.type: codec for codec in named_codecs(text, catalog)} for text in options.names]
    for type_name in [*sides[0], *(name for name in sides[1] if name not in sides[0])]:
        one, other = sides[0].get(type_name), sides[1].get(type_name)
        yield _versions(one, other)
        yield from difference_lines(one, other, style)


def _release_lines(old: str, new: str, names: list[str], style: Style) -> Iterator[str]:
    before, after = named_release(old), named_release(new)
    for api in found_apis(names):
        one, other = before.versions(api.key), after.versions(api.key)
        if not one and not other:
            continue
        if one != other:
            yield f"{api.name} ({api.key}): versions {one} -> {other}"
        for suffix in ("Request", "Response"):
            pair = _newest(before.name, api, suffix), _newest(after.name, api, suffix)
            lines = list(difference_lines(*pair, style)) if all(pair) else []
            if lines and lines != [NOTHING]:
                yield _versions(*pair)
                yield from lines


def _versions(one: Codec | None, other: Codec | None) -> str:
    names = [f"{codec.name} v{codec.version}" if codec else "nothing" for codec in (one, other)]
    if one and other and one.name == other.name:
        names[1] = f"v{other.version}"
    return " -> ".join(names)


def _newest(name: str, api: Api, suffix: str) -> Codec | None:
    catalog: Catalog = catalog_for(None, name)
    versions = release(name).versions(api.key)
    spec = catalog.find(api.key, suffix.lower(), versions.last) if versions else None
    return codec_in(catalog, spec.name, versions.last) if spec else None
