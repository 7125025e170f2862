"""Lists what the message specs of another Kafka have that kwire's have not: `python3 dev.py trunk PLACE...`

A PLACE is a Kafka checkout, a folder of specs, or a jar of Kafka. With `--write DIR`, the specs that differ are written
to a folder, which works as a profile: `kwire --schemas DIR`, `kwire.Catalog.from_directory(DIR)`. Exits 1 if something
differs, so that a scheduled workflow says when Kafka's trunk has something new.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import kwire
from kwire.schema.message_spec import MessageSpec, StructSpec
from kwire.schema.version_ranges import Versions

# Names that kwire has from before Kafka renamed its specs.
RENAMED = {"QuorumStateData": "QuorumState", "DefaultPrincipalData": "DefaultPrincipal"}
IN_JAR = re.compile(r"(?:.*/)?message/(\w+\.json)")


class FieldFacts(NamedTuple):
    """What decides the bytes of a field, in the versions that its message and the fields around it have."""

    type: str
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: str


def unpack_jar(jar: Path, folder: Path) -> None:
    """Write the specs in a jar to a folder."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if match := IN_JAR.fullmatch(name):
                (folder / match[1]).write_bytes(archive.read(name))


def read_places(places: Sequence[Path], scratch: Path) -> dict[str, MessageSpec]:
    """Return the specs in checkouts, folders and jars, by name."""
    for jar in places:
        if jar.is_file():
            unpack_jar(jar, scratch)
    folders = [*(place for place in places if place.is_dir()), *([scratch] if any(scratch.iterdir()) else [])]
    specs: dict[str, MessageSpec] = {}
    for folder in folders:
        catalog = kwire.Catalog.from_directory(folder, alone=True)
        specs |= {name: catalog.spec(name) for name in catalog.names()}
    return specs


def fields_of(struct: StructSpec, versions: Versions, path: str = "") -> Iterator[tuple[str, FieldFacts]]:
    """Yield the path of each field, and its facts, in the order of the bytes."""
    for field in struct.fields:
        present = field.versions.meets(versions)
        name = f"{path}{field.json_name}{'[]' if field.is_array else ''}"  # Kafka's own case varies
        kind = "[]" * field.is_array + ("struct" if field.struct is not None else field.element)
        nullable, tagged = field.nullable_versions.meets(present), field.tagged_versions.meets(present)
        yield name, FieldFacts(kind, present, nullable, tagged, field.tag if tagged else None, repr(field.default))
        if field.struct is not None:
            yield from fields_of(field.struct, field.struct.versions.meets(present), f"{name}.")


def differences(theirs: MessageSpec, ours: MessageSpec | None) -> Iterator[str]:
    """Yield what a spec has, or says otherwise; nothing if its versions have the same bytes in kwire's spec.

    kwire keeps the versions and fields that Kafka has removed.
    """
    name = theirs.name
    if ours is None:
        key = "" if theirs.api_key is None else f", api {theirs.api_key}"
        yield f"{name}: new message, versions {theirs.versions}{key}"
        return
    if (theirs.type, theirs.api_key) != (ours.type, ours.api_key):
        yield f"{name}: {theirs.type} {theirs.api_key}, kwire has {ours.type} {ours.api_key}"
    new = [version for version in theirs.versions if version not in ours.versions]
    if new:
        yield f"{name}: new versions {', '.join(map(str, new))}"
    common = theirs.versions.meets(ours.versions)
    if theirs.flexible_versions.meets(common) != ours.flexible_versions.meets(common):
        yield f"{name}: flexible versions {theirs.flexible_versions}, kwire has {ours.flexible_versions}"
    known = dict(fields_of(ours.struct, ours.versions))
    for path, facts in fields_of(theirs.struct, theirs.versions):
        if path not in known:
            yield f"{name}: new field {path} {facts.type}, versions {facts.versions}"
    for line in _changes(*(dict(fields_of(spec.struct, common)) for spec in (ours, theirs))):
        yield f"{name}: {line}"


def _changes(before: dict[str, FieldFacts], after: dict[str, FieldFacts]) -> Iterator[str]:
    """Yield what has changed in the fields that kwire has, in versions that both specs have."""
    present = {path: facts for path, facts in before.items() if facts.versions}
    for path, facts in present.items():
        if path not in after:
            yield f"no field {path}, versions {facts.versions}"
            continue
        for what, value in facts._asdict().items():
            if (now := getattr(after[path], what)) != value:
                yield f"{path}: {what} {now}, kwire has {value}"
    both = [path for path in present if path in after]
    if both != [path for path in after if path in present]:
        yield "its fields are in another order"


def compare(places: Sequence[Path], write: Path | None = None) -> list[str]:
    """Return the differences between places and kwire; write the specs that have some."""
    found = list[str]()
    ours = kwire.Catalog.of()
    with tempfile.TemporaryDirectory() as scratch:
        for name, spec in sorted(read_places(places, Path(scratch)).items()):
            known = RENAMED.get(name, name)
            lines = list(differences(spec, ours.spec(known) if known in ours else None))
            found += lines
            if lines and write is not None:
                write.mkdir(parents=True, exist_ok=True)
                (write / f"{name}.json").write_text(spec.text, "utf-8")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the differences, a line each; return 1 if there are some."""
    parser = argparse.ArgumentParser(prog="dev.py trunk", description=__doc__)
    parser.add_argument("places", nargs="+", type=Path, metavar="PLACE")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the specs that differ to this folder")
    options = parser.parse_args(arguments)
    for place in options.places:
        if not place.exists():
            parser.error(f"{place}: there is no such file or folder")
    lines = compare(options.places, options.write)
    print(*(lines or ["kwire has all of it"]), sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
