"""Build a wheel, and try it in an empty environment: `dev.py wheel`.

What was built is put into `dist/`. It is installed with what it depends on, and run from a folder of its own: the
engine is native just where the wheel has one, a dump is decoded as by every engine, and the demo ends well.
`--installed` tries what the running python has installed, as cibuildwheel asks for. Needs the standard library alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DUMP = ROOT / "fixtures" / "dumps" / "kafka-3.9-zk.pcap"
SUITE = (  # of a minute, with compiled extensions of other packages, too
    "tests/codecs/wire",
    "tests/codecs/columns",
    "tests/codecs/fallback",
    "tests/codecs/test_field_search.py",
    "tests/codecs/test_message_codec.py",
    "tests/codecs/test_schema_tree.py",
    "tests/codecs/test_tracing.py",
    "tests/protocol",
    "tests/codecs/records/test_batch.py",
    "tests/capture/packets/test_pcap.py",
    "tests/capture/test_captures.py",
    "tests/cli/commands/test_decode.py",
    "tests/cli/commands/test_encode.py",
    "tests/arrow/rows/test_frame_rows.py",
)
# What SUITE imports; the group `test` has fifty packages more.
LIBRARIES = ("pytest", "pytest-xdist", "hypothesis", "dpkt")
SHARED = ("man/man1/kwire.1", "bash-completion/completions/kwire", "zsh/site-functions/_kwire")  # and of fish
SOURCES = (".pyx", ".pxi", ".h", "build_hook.py")  # of no use without a compiler


class Unfit(Exception):
    """What is wrong with a wheel."""


def run(*command: str, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command without the caller's path of modules; return what it prints. Raises Unfit."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "KWIRE_ENGINE")}
    done = subprocess.run(command, cwd=cwd, env=env | variables, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise Unfit(f"{' '.join(command)} ends with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def build(folder: Path, python: str = sys.executable, **variables: str) -> Path:
    """Build a wheel by the hatchling of this environment, or by what another Python's pip fetches; return it."""
    if python == sys.executable:
        run(python, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT, **variables)
    else:
        # Without compiled files: what builds is used once.
        run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT), PIP_COMPILE="0")
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> str:
    """Check that name and contents of a wheel agree; return the engine that it has. Raises Unfit."""
    names = zipfile.ZipFile(wheel).namelist()
    engines = [
        name for name in names if name.startswith("kwire/codecs/native/_engine.") and name.endswith((".so", ".pyd"))
    ]
    is_pure = wheel.name.endswith("-py3-none-any.whl")
    if len(engines) != (not is_pure):
        raise Unfit(f"{wheel.name} has {engines or 'no engine'}")
    if left := [name for name in names if name.endswith(SOURCES)]:
        raise Unfit(f"{wheel.name} has {left}")
    if other := [name for name in names if not name.startswith(("kwire/", "pyspark_kwire/", "kwire-"))]:
        raise Unfit(f"{wheel.name} has {other}")
    shared = "-".join(wheel.name.split("-")[:2]) + ".data/data/share"
    dumps = [name for name in names if name.endswith((".bin", ".pcap", ".hex", ".gz", ".md"))]
    if dumps != ["kwire/cli/kafka-3.9-zk.bin"]:
        raise Unfit(f"{wheel.name} has the dumps {dumps}")
    for needed in (
        "kwire/__init__.pyi",
        "kwire/messages/__init__.pyi",
        "kwire/schemas/kafka/MetadataResponse.json",
        "kwire/py.typed",
        *(f"{shared}/{name}" for name in SHARED),
    ):
        if needed not in names:
            raise Unfit(f"{wheel.name} lacks {needed}")
    return "python" if is_pure else "native"


def install(wheel: Path, folder: Path, base: str = sys.executable, for_tests: bool = False) -> Path:
    """Install a wheel into an environment that is made for it, with what it depends on; return its python."""
    wanted = [f"{wheel}[arrow,compression]", *LIBRARIES] if for_tests else [str(wheel)]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    uv = shutil.which("uv")
    if uv:
        run(uv, "venv", "--python", base, str(folder))
        run(uv, "pip", "install", "--python", str(python), *wanted)
    else:
        run(base, "-m", "venv", str(folder))
        run(str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile", *wanted)
    return python


def try_installed(python: Path, engine: str, folder: Path) -> None:
    """Run what an environment has installed, from a folder without kwire's source. Raises Unfit."""
    kwire = [str(python), "-P", "-m", "kwire"]
    version = run(*kwire, "--version", cwd=folder).strip()
    if not version.splitlines()[0].endswith(f"(engine: {engine})"):
        raise Unfit(f"kwire --version says {version!r}, not {engine}")
    lines = run(*kwire, "decode", "--jsonl", str(DUMP), cwd=folder)
    if lines.count("\n") < 5 or lines != run(
        *kwire, "decode", "--jsonl", str(DUMP), cwd=folder, KWIRE_ENGINE="reference"
    ):
        raise Unfit(f"{DUMP.name} is not decoded as by the reference")
    if "Kafka" not in run(*kwire, "demo", cwd=folder):
        raise Unfit("kwire demo does not tell of Kafka")


def run_tests(python: Path, folder: Path) -> str:
    """Run `SUITE` on what an environment has installed, from a folder without kwire's source; return the last line.

    Raises Unfit.
    """
    for name in ("tests", "fixtures", "schemas"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "pyproject.toml", folder)
    where = run(str(python), "-P", "-c", "import kwire; print(kwire.__file__)", cwd=folder).strip()
    if Path(where).is_relative_to(ROOT / "kwire"):
        raise Unfit(f"kwire is {where}, not what was installed")
    command = [str(python), "-P", "-m", "pytest", "-p", "no:cacheprovider", *SUITE]
    demands = dict.fromkeys(("CI", "KWIRE_BROWSER", "KWIRE_INTEROP", "KWIRE_SPARK"), "")  # not of this part
    return run(*command, cwd=folder, HYPOTHESIS_PROFILE="dev", **demands).strip().rpartition("\n")[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build and try; return 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="dev.py wheel", description="Build a wheel, and try it.")
    parser.add_argument("--installed", action="store_true", help="try what is installed here, which must be native")
    parser.add_argument(
        "--python", default=sys.executable, help="build and try with this Python, not with that of .venv"
    )
    parser.add_argument("--tests", action="store_true", help="also run a minute of tests on the installed wheel")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            if options.installed:
                try_installed(Path(sys.executable), "native", folder)
                return 0
            wheel = build(folder / "wheel", options.python)
            engine = check_contents(wheel)
            python = install(wheel, folder / "env", options.python, options.tests)
            try_installed(python, engine, folder)
            verdict = run_tests(python, folder) if options.tests else "no tests run"
        except Unfit as error:
            print(error, file=sys.stderr)
            return 1
        (ROOT / "dist").mkdir(exist_ok=True)
        kept = Path(shutil.copy2(wheel, ROOT / "dist"))
    print(f"{kept.relative_to(ROOT)}: engine {engine}, {verdict}, tried in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
