"""Fuzz the native engine, built with the address and undefined behaviour sanitizers: `dev.py fuzz --sanitize`.

The extension is compiled into a temporary folder; a child python loads it in place of the installed one and runs the
cases of `tests.tools.engine_cases` until the time is up. A report of a sanitizer, or a difference from the reference
path, ends the child; the seed and the case are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from random import SystemRandom
from typing import Any

ROOT = Path(__file__).parent.parent.parent
ENGINE = "kwire.codecs.native._engine"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1"]
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",  # each object in memory of its own, so that reading behind it is noticed
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OPENBLAS_NUM_THREADS": "1",
}
CHILD = """
import sys
from tests.tools.sanitize import load_engine
load_engine(sys.argv[1])
from tests.tools.engine_cases import main
main(int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
"""


def missing() -> str | None:
    """Return what is missing for a build with sanitizers; None if nothing is."""
    for needed in ("Cython", "setuptools", "hatchling", "pyarrow"):
        if importlib.util.find_spec(needed) is None:
            return f"{needed} is not installed"
    if sys.platform != "linux":
        return "the runtime of the sanitizers is preloaded, which this does on Linux alone"
    return None if all(map(runtime, ("asan", "ubsan"))) else "the C compiler has no runtime of the sanitizers"


def runtime(sanitizer: str) -> str | None:
    """Return the path of a sanitizer's library; None where there is no compiler, or none with it."""
    try:
        command = [os.environ.get("CC", "cc"), f"-print-file-name=lib{sanitizer}.so"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return path if Path(path).is_absolute() else None  # gcc prints the bare name of what it does not have


def build(folder: Path) -> Path:
    """Compile the extension with the sanitizers; return the library."""
    path = ROOT / "kwire" / "codecs" / "native" / "build_hook.py"
    spec = importlib.util.spec_from_file_location("build_hook", path)
    assert spec is not None
    assert spec.loader is not None
    hook: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    library: Path = hook.compile_extension(folder, SANITIZERS)
    return library


def load_engine(library: str) -> None:
    """Have `import` find the engine in a library, instead of what is installed."""

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            return importlib.util.spec_from_file_location(name, library) if name == ENGINE else None

    sys.meta_path.insert(0, Finder)


def fuzz(library: Path, seed: int, seconds: float) -> int:
    """Run the cases in a child for so many seconds; return 1 if it failed."""
    case = library.parent / "case"
    case.write_text("none yet")
    preloaded = " ".join(filter(None, map(runtime, ("asan", "ubsan"))))
    env = {**os.environ, **OPTIONS, "LD_PRELOAD": preloaded, "KWIRE_ENGINE": "native"}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", CHILD, str(library), str(seed), str(seconds), str(case)]
    code = subprocess.run(command, env=env, cwd=ROOT, check=False).returncode
    if code:
        last = case.read_text("utf-8", errors="replace").splitlines()[0]  # a longer one before it may go on behind
        print(f"== the engine failed with seed {seed} (exit code {code}) at:\n{last}")
    return 1 if code else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and fuzz; return 1 if a case failed, 2 where it cannot be built."""
    parser = argparse.ArgumentParser(prog="dev.py fuzz --sanitize", description="Fuzz the engine with sanitizers.")
    parser.add_argument("--minutes", type=float, default=2, help="how long (default: 2)")
    parser.add_argument("--seed", type=int, help="of what is drawn (default: drawn)")
    options = parser.parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"nothing is run: {reason}", file=sys.stderr)
        return 2
    seed = SystemRandom().randrange(10**9) if options.seed is None else options.seed
    print(f"== seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        return fuzz(build(Path(scratch)), seed, 60 * options.minutes)


if __name__ == "__main__":
    sys.exit(main())
