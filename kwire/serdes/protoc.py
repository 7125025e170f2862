"""Compiles the text of a `.proto` file to descriptors, with protoc: Python's library has no parser of the text.

Registries that know `format=serialized` (Confluent's, Karapace) spare it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from .schema_document import PROTOBUF, SchemaDocument
from .schema_error import BAD_SCHEMA, NO_LIBRARY, SchemaError

MOST_SECONDS = 10
MAIN = "kwire_schema.proto"
_PATH = re.compile(r"(?!/)(?:(?!\.\.?/)[A-Za-z0-9_.-]{1,100}/){0,10}[A-Za-z0-9_.-]{1,100}\.proto")


def compile_text(document: SchemaDocument) -> SchemaDocument:
    """Return a schema as descriptors, with those of all files that it imports.

    Raises:
        SchemaError: it is not valid, takes too long, or there is no protoc.
    """
    command = _find_protoc()
    with TemporaryDirectory(prefix="kwire-") as folder:
        for name, text in [
            *((reference.name, reference.text) for reference in document.references),
            (MAIN, document.text),
        ]:
            if _PATH.fullmatch(name) is None:
                raise SchemaError(BAD_SCHEMA, f"{name!r} is not the path of a .proto file"[:300])
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", errors="replace")
        output = Path(folder) / "descriptors"
        command += [f"-I{folder}", "--include_imports", f"--descriptor_set_out={output}", MAIN]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=MOST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise SchemaError(BAD_SCHEMA, f"protoc takes more than {MOST_SECONDS} s") from None
        except OSError as error:
            raise SchemaError(NO_LIBRARY, f"protoc: {error.strerror}") from None
        if done.returncode:
            reason = done.stderr.decode(errors="replace").split("\n")[0].removeprefix(f"{MAIN}:")
            raise SchemaError(BAD_SCHEMA, f"protoc refuses it: {reason.strip()}"[:300])
        return SchemaDocument(PROTOBUF, descriptors=output.read_bytes(), name=document.name)


def _find_protoc() -> list[str]:
    """Return the command of protoc: that of grpcio-tools, or else the system's."""
    spec = find_spec("grpc_tools")
    if spec is not None and spec.origin is not None:
        return [sys.executable, "-I", "-m", "grpc_tools.protoc", f"-I{Path(spec.origin).parent / '_proto'}"]
    program = shutil.which("protoc")
    if program is None:
        raise SchemaError(NO_LIBRARY, "the text of a .proto file needs protoc: pip install grpcio-tools")
    return [program]
