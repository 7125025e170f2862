"""Writes stubs and compiles the native engine during installation: a build hook of hatchling, unused afterwards.

Without a C compiler or the headers of Python, the installation continues without the engine and prints one notice;
kwire then decodes with generated Python. `KWIRE_BUILD=required` makes this an error, `KWIRE_BUILD=none` skips the
engine. In a checkout, `python kwire/codecs/native/build_hook.py` compiles the engine again after its
sources have changed.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
MODULE = "kwire.codecs.native._engine"


class NativeEngineHook(BuildHookInterface[Any]):
    """Adds the extension to a wheel; in an editable installation, it is beside its source."""

    PLUGIN_NAME = "custom"

    @cached_property
    def scratch(self) -> Path:
        """The folder of what is built, which `finalize` removes: only archives are left in `dist/`."""
        return Path(tempfile.mkdtemp(prefix="kwire-build-"))

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stubs; compile the engine if that is requested and possible."""
        if self.target_name == "wheel":
            self.add_stubs(version, build_data)
        wanted = os.environ.get("KWIRE_BUILD", "")
        if wanted == "none":
            return
        try:
            library = compile_extension(self.scratch / "native")
        except Exception as error:  # distutils raises a dozen kinds of errors; SystemExit is not one of them
            if wanted == "required":
                raise
            print(f"kwire: the native engine is left out, decoding will be slower ({reason(error)})", file=sys.stderr)
            return
        build_data.update(pure_python=False, infer_tag=True)
        if version == "editable":
            shutil.copy2(library, HERE / library.name)
        else:
            build_data["force_include"][str(library)] = f"kwire/codecs/native/{library.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the archive now."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def add_stubs(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate stubs for type checkers: beside the source in an editable installation, otherwise in the wheel."""
        sys.path.insert(0, self.root)
        from kwire.schema.stubs import write_stubs  # hatchling runs this file alone

        if version == "editable":
            write_stubs(HERE.parents[1])
            return
        folder = self.scratch / "stubs"
        for path in write_stubs(folder):
            build_data["force_include"][str(path)] = f"kwire/{path.relative_to(folder).as_posix()}"


def compile_extension(folder: Path, extra: list[str] | None = None) -> Path:
    """Compile the extension; return the library.

    Args:
        folder: the folder of the library; created if it is missing.
        extra: further options of the compiler and linker, such as those of a sanitizer.
    """
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    sources = runpy.run_path(str(HERE / "fingerprint.py"))["fingerprint"](HERE)  # it may be stale
    optimise = ["/O2"] if os.name == "nt" else ["-O2", "-g0"]  # -O3 makes JSON text and encoding a seventh slower
    with tempfile.TemporaryDirectory() as scratch:
        options = {"build_dir": scratch, "include_path": [str(HERE)], "quiet": True}
        source = os.path.relpath(HERE / "_engine.pyx")
        extension = Extension(
            MODULE,
            [source],
            include_dirs=[str(HERE)],
            define_macros=[("KWIRE_SOURCES", f"{sources}u")],
            extra_compile_args=optimise + (extra or []),
            extra_link_args=extra or [],
        )
        command = Distribution({"ext_modules": cythonize([extension], **options)}).get_command_obj("build_ext")
        command.build_temp, command.build_lib = str(Path(scratch) / "objects"), str(Path(scratch) / "library")
        command.ensure_finalized()
        command.run()
        (built,) = (Path(output) for output in command.get_outputs())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / built.name).unlink(missing_ok=True)  # processes that have loaded it keep the old file
        return Path(shutil.copy2(built, folder / built.name))


def reason(error: BaseException) -> str:
    """Return the first line of an error."""
    return next(iter(str(error).splitlines()), type(error).__name__)


if __name__ == "__main__":
    compile_extension(HERE)
