"""Sets up .venv beside this file, then runs the demo, the tests or the checks in it; needs only python3.

The .venv belongs to this script, which removes and creates it again when pyproject.toml, this file, the native engine,
the folder's path or the Python version has changed, or when it is broken. Nothing is installed outside it.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NEEDED = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "dev-stamp"
HOOK = ROOT / "kwire" / "codecs" / "native" / "build_hook.py"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / "python")
PYTEST = [PYTHON, "-m", "pytest"]
ON_TWO_CORES = ["-n", "2", "--dist", "worksteal"]
WITH_CI = ["-m", "", "-rs", "--durations", "40"]  # all tests; pyproject.toml selects "not ci"
COVERAGE = [PYTHON, "-m", "tests.tools.coverage"]
PREFETCH = [PYTHON, "-m", "tests.tools.prefetch"]
COMMANDS = {  # commands that pass arguments on
    "demo": [str(BIN / "kwire"), "demo"],
    "test": PYTEST,
    "fuzz": [PYTHON, "-m", "tests.tools.fuzz"],
    "mutate": [PYTHON, "-m", "tests.tools.mutate"],
    "simulate": [PYTHON, "-m", "tests.tools.simulate"],
    "trunk": [PYTHON, "-m", "tests.tools.trunk"],
    "wheel": [PYTHON, "-m", "tests.tools.wheel"],
    "zipapp": [PYTHON, "-m", "tests.tools.zipapp"],
    "docs": [PYTHON, "-m", "tests.tools.site"],
}
CHECKS = [
    [PYTHON, "-m", "kwire.schema.stubs"],  # the specs may have changed since the installation generated the stubs
    [str(BIN / "ruff"), "check"],
    [str(BIN / "ruff"), "format", "--check"],
    [str(BIN / "mypy"), "--strict", "kwire", "tests", "dev.py"],
    [str(BIN / "lint-imports")],
]
LOCK = Path(".ci", "lock")  # what tests and checks need, with versions and hashes: python -m tests.tools.lock
# Sets of extras and dependency groups, each including the one before it, and the scripts that they install.
_LINT = ["kwire", "pytest", "ruff", "mypy", "pyright", "lint-imports"]
SCRIPTS = {
    "": ["kwire"],
    "test": ["kwire", "pytest"],
    "test,lint": _LINT,
    "test,lint,docs": [*_LINT, "mkdocs"],
    "test,lint,docs,connect,plots,s3,polars": [*_LINT, "mkdocs", "spark-submit"],
}
LAYERS = {  # the files of the lock for them
    "": [],  # what users install
    "test": ["test"],
    "test,lint": ["test", "lint"],
    "test,lint,docs": ["test", "lint", "docs"],
    "test,lint,docs,connect,plots,s3,polars": ["test", "lint", "docs", "ci"],
}
TESTED = (
    "arrow",
    "compression",
    "tui",
    "mcp",
    "metrics",
    "regex",
    "values",
    "otel",
)  # extras that come with the group `test`
SECONDS = {"test,lint,docs,connect,plots,s3,polars": 60}  # of a set-up on two idle cores; others take 30
EXTRAS = {
    "demo": "",  # what `pip install .` installs, nothing for tests
    "test": "test",
    "fuzz": "test",
    "mutate": "test",
    "simulate": "test",
    "trunk": "",
    "wheel": "test",
    "zipapp": "test",
    "lint": "test,lint",
    "docs": "test,lint,docs",
    "ci": "test,lint,docs,connect,plots,s3,polars",
}
USAGE = """python3 dev.py demo             run `kwire demo`; more arguments are passed on to it
       python3 dev.py test             run the tests on two cores, without those marked "ci"
       python3 dev.py test -x -k name  pass the arguments on to pytest, and run it in one process
       python3 dev.py fuzz --minutes 10  repeat the random tests with new seeds; print seeds and failures
       python3 dev.py fuzz --sanitize  fuzz the native engine, built with address and undefined behaviour sanitizers
       python3 dev.py mutate --seed 1 --count 50  make small changes to kwire; print those that no test detects
       python3 dev.py simulate --minutes 10  simulate brokers and clients under faults; print the seeds that fail
       python3 dev.py trunk PLACE      list what a Kafka checkout, or jars of Kafka, have that kwire's specs have not
       python3 dev.py wheel            build a wheel into dist/, and test it in an empty environment
       python3 dev.py zipapp           build the single-file program for this Python into dist/
       python3 dev.py docs             build the documentation site into dist/site, without network
       python3 dev.py docs --playground  also download Pyodide for its page "Decode in the browser"
       python3 dev.py lint             run ruff, mypy and import-linter, and report the result of each
       python3 dev.py ci               lint, then all tests, with Spark (on Java 17); report the time of each"""
# Only those variables of pip and uv are kept that configure downloads: others could redirect the installation.
FETCHING = r"\w*(INDEX|CACHE|TIMEOUT|RETRIES|KEYRING|CERT|HOST)\w*|FIND_LINKS|PROXY|CONFIG_FILE|NATIVE_TLS|OFFLINE"
# Without compiled files, every process of the tests compiles all it imports: 25 s instead of 10 s for their collection.
PYTHONS = "HOME|PATH|WARNINGS|OPTIMIZE|INSPECT|STARTUP|SAFEPATH|EXECUTABLE|PLATLIBDIR|USERBASE|DONTWRITEBYTECODE"
DROPPED = re.compile(rf"(PIP|UV)_(?!({FETCHING})$).*|PYTHON({PYTHONS})|VIRTUAL_ENV|CONDA_PREFIX|__PYVENV_LAUNCHER__")


def say(text: str) -> None:
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def environment() -> dict[str, str]:
    """Return the caller's environment with .venv first on PATH, without variables that misdirect python, pip or uv."""
    env = {name: value for name, value in os.environ.items() if not DROPPED.fullmatch(name)}
    for name in ("INDEX_URL", "EXTRA_INDEX_URL"):  # uv does not read pip's variables
        if f"PIP_{name}" in env:
            env.setdefault(f"UV_{name}", env[f"PIP_{name}"])
    if not os.access(os.path.expanduser("~"), os.W_OK):  # there is no place for a cache
        env.update(PIP_NO_CACHE_DIR="1", UV_NO_CACHE="1")
    path = env.get("PATH", os.defpath)  # the demo suggests commands for the caller's shell
    return {**env, "KWIRE_SHELL_PATH": path, "PATH": os.pathsep.join([str(BIN), path])}


def base_python() -> str:
    """Return the Python that creates .venv; never one of an active virtualenv, which may be the .venv to remove."""
    base = str(getattr(sys, "_base_executable", sys.executable))
    return base if os.path.exists(base) else os.path.realpath(sys.executable)


def stamp(extras: str) -> str:
    """Return the content of the stamp file of a complete and current .venv with these extras."""
    engine = sorted((ROOT / "kwire" / "codecs" / "native").glob("*.[ph]*"))  # compiled by the installation
    files = [path.read_bytes() for path in [ROOT / "pyproject.toml", Path(__file__), *engine, *locks(extras)]]
    return hashlib.sha256(repr((files, sys.version, str(ROOT), extras)).encode()).hexdigest()


def works(extras: str) -> bool:
    """Whether .venv has the scripts of these extras, and a working Python that finds their modules."""
    modules = [name for name in ("kwire", "pytest") if name in SCRIPTS[extras]]
    find = f"import sys; from importlib.util import find_spec as f; sys.exit(not all(map(f, {modules})))"
    scripts = all(shutil.which(name, path=str(BIN)) for name in SCRIPTS[extras])
    try:
        return scripts and (VENV / "pyvenv.cfg").is_file() and quiet(PYTHON, "-I", "-c", find)[0] == 0
    except OSError:
        return False


def is_stamped(extras: str) -> bool:
    """Whether .venv is complete with exactly these extras, is current, and works."""
    found = STAMP.read_bytes().decode(errors="replace") if STAMP.is_file() else ""
    return found == stamp(extras) and works(extras)


def is_ready(extras: str) -> bool:
    """Whether .venv is complete with at least these extras, is current, and works."""
    return any(is_stamped(more) for more in SCRIPTS if more.startswith(extras))


def quiet(*command: str, **variables: str) -> tuple[int, str]:
    """Run a step of the set-up, which inherits the lock (see `locked`); return its exit code and its output."""
    done = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env={**environment(), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        close_fds=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")


def clear() -> None:
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        try:
            shutil.rmtree(VENV)
        except OSError as error:
            sys.exit(f"dev.py: cannot remove {VENV}: {error}")


def has_engine() -> bool:
    return quiet(PYTHON, "-c", "import kwire.codecs.native._engine")[0] == 0


def variables(fresh: bool) -> dict[str, str]:
    """The variable that stops an installation of further extras from compiling the engine again, in 17 s of CPU."""
    return {} if fresh or not has_engine() else {"KWIRE_BUILD": "none"}


def requirements(names: str) -> list[str]:
    """Return the arguments that install kwire with these extras and dependency groups, which pip knows since 25.1."""
    import tomllib  # since NEEDED

    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    chosen = names.split(",") if names else []
    extras = ",".join([*(TESTED if "test" in chosen else ()), *(name for name in chosen if name not in groups)])
    return ["-e", f".[{extras}]" if extras else ".", *(line for name in chosen for line in groups.get(name, ()))]


def locks(extras: str) -> list[Path]:
    """Return the files of the lock with what these extras need; none in a source archive without them."""
    files = [ROOT / LOCK / f"{name}.txt" for name in LAYERS[extras]]
    return files if all(file.is_file() for file in files) else []


def install(installer: list[str], extras: str, fresh: bool) -> tuple[int, str]:
    """Install exactly what the lock has, or else what pyproject.toml allows; return exit code and output."""
    if locks(extras):
        code, output = install_locked([*installer, "--no-deps", "--no-build-isolation"], extras, fresh)
        if code == 0:
            return code, output
        if re.search("hash(es)? mismatch|do not match the hashes", output, re.IGNORECASE):
            sys.exit(f"{output}dev.py: a package is not the one that {LOCK} names")
        say(f"{LOCK} cannot be installed, using what pyproject.toml allows instead ({reason(output, code)})")
    return quiet(*installer, *requirements(extras), **variables(fresh))


def install_locked(installer: list[str], extras: str, fresh: bool) -> tuple[int, str]:
    """Install the packages of the lock and kwire, while the engine is compiled."""
    exact = [*installer, "--require-hashes"]
    code, output = quiet(*exact, "-r", str(LOCK / "build.txt"))
    if code:
        return code, output
    with ThreadPoolExecutor() as pool:
        build = os.environ.get("KWIRE_BUILD", "") if fresh else "none"
        compiled = pool.submit(quiet, PYTHON, str(HOOK)) if build != "none" else None
        code, output = quiet(*exact, *(word for file in locks(extras) for word in ("-r", str(file))))
        if code == 0:
            code, output = quiet(*installer, "-e", ".", KWIRE_BUILD="none")
    if compiled and compiled.result()[0] and build == "required":
        sys.exit(f"{compiled.result()[1]}dev.py: the native engine cannot be built, see above")
    return code, output


def reason(output: str, code: int) -> str:
    return next((line.strip() for line in output.split("\n") if "error" in line.lower()), f"exit code {code}")


def install_with_uv(extras: str, fresh: bool) -> bool:
    uv = shutil.which("uv")
    if uv is None or "PIP_NO_INDEX" in os.environ:  # uv has no such variable and would use the network
        return False
    code, output = quiet(uv, "venv", "--python", base_python(), str(VENV)) if fresh else (0, "")
    if code == 0:
        code, output = install([uv, "pip", "install", "--python", PYTHON], extras, fresh)
    if code:
        say(f"uv failed, using venv and pip instead ({reason(output, code)})")
    return code == 0


def find_pip() -> list[str] | None:
    """Return the command of a pip for .venv: that of the Python that made it saves the 3 s of installing another."""
    own = [PYTHON, "-m", "pip"]
    for pip in ([base_python(), "-m", "pip", "--python", PYTHON], own):
        if quiet(*pip, "--version")[0] == 0:
            return pip
    return own if quiet(PYTHON, "-m", "ensurepip")[0] == 0 else None


def install_with_pip(extras: str, fresh: bool) -> None:
    if fresh:
        clear()
        code, output = quiet(base_python(), "-m", "venv", "--without-pip", str(VENV))
        if code:
            sys.exit(f"{output}dev.py: cannot make .venv, see above")
    pip = find_pip()
    if pip is None:
        sys.exit("dev.py: this python3 has no ensurepip and no pip >= 22.3: `apt install python3-venv`, or install uv")
    # Python compiles what is imported, a third of what pip would compile in half a minute.
    options = ["--disable-pip-version-check", "--no-input", "--no-user", "--use-pep517", "--no-compile"]
    code, output = install([*pip, "install", *options], extras, fresh)
    if code:
        sys.exit(f"{output}dev.py: the installation failed, see above")


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Lock this file. Installers inherit the lock, and hold it even if the set-up is killed before them."""
    with open(__file__, "rb") as file:
        if sys.platform != "win32":
            import fcntl

            os.set_inheritable(file.fileno(), True)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another set-up of .venv ...")
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError:
                pass  # a file system without locks
        yield


def set_up(extras: str) -> None:
    """Set up .venv: add missing extras to a current one, otherwise create it again."""
    if is_ready(extras):
        return
    with locked():
        if is_ready(extras):  # another run has set it up in the meantime
            return
        say(f"setting up .venv (once, about {SECONDS.get(extras, 30)} s) ...")
        finished = stamp(extras)  # taken now: pyproject.toml may be edited while the installation runs
        fresh = not any(less != extras and is_stamped(less) for less in SCRIPTS if extras.startswith(less))
        if fresh:
            clear()
        else:
            STAMP.unlink()
        if not install_with_uv(extras, fresh):
            install_with_pip(extras, fresh)
        if not has_engine():
            say("the native engine was not built (is there a C compiler?): kwire works without it, more slowly")
        if not works(extras):
            sys.exit("dev.py: the installation succeeded, but not into .venv: look at `pip config list`")
        STAMP.write_text(finished)


def run(command: list[str]) -> int:
    with subprocess.Popen(command, cwd=ROOT, env=environment()) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the command was interrupted, too: wait until it has finished
            process.wait()
            raise
    return code if code >= 0 else 128 - code


def run_all(steps: list[list[str]], beside: list[str] | None = None) -> int:
    """Run all steps, even after a failure, and report each; return the first exit code that is not 0.

    One more command may run beside the first steps, which use one core; what it prints comes after theirs.
    """
    report, result = [], 0
    with tempfile.TemporaryFile() as printed:
        other = beside and subprocess.Popen(beside, cwd=ROOT, env=environment(), stdout=printed, stderr=printed)
        for step in [*steps[: len(CHECKS)], *([beside] if beside else []), *steps[len(CHECKS) :]]:
            name = " ".join([Path(step[0]).name, *step[1:]])
            print(f"== {name}", flush=True)
            start = time.monotonic()
            if other and step is beside:
                code = other.wait()
                printed.seek(0)
                print(printed.read().decode(errors="replace"), flush=True)
            else:
                code = run(step)
            report.append(f"{time.monotonic() - start:6.1f} s  {f'FAILED ({code})' if code else 'ok':12} {name}")
            result = result or code
    print("== summary", *report, sep="\n", flush=True)
    return result


@contextlib.contextmanager
def downloading() -> Iterator[None]:
    """Download what several tests need while lint and other tests run."""
    null = subprocess.DEVNULL  # the tests report what they cannot have
    with subprocess.Popen(PREFETCH, cwd=ROOT, env=environment(), stdin=null, stdout=null, stderr=null) as process:
        try:
            yield
        finally:
            process.terminate()


def run_only(command: list[str]) -> int:
    """Replace this process by the command, so that exit codes and signals need not be passed on."""
    if os.name == "nt":
        return run(command)
    os.chdir(ROOT)
    os.execve(command[0], command, environment())


def main() -> int:
    if sys.version_info[:2] < NEEDED:
        say("needs Python {}.{} or newer; this is {}.{}".format(*NEEDED, *sys.version_info))
        return 2
    parser = argparse.ArgumentParser(usage=USAGE)
    parser.add_argument("command", choices=list(EXTRAS))
    parser.add_argument("args", nargs=argparse.REMAINDER, help="passed on (not by lint and ci)")
    options = parser.parse_args()
    checking = options.command in ("lint", "ci")
    if checking and options.args:
        parser.error(f"{options.command} takes no arguments")
    if options.command in ("test", "ci"):
        from tests.seeds import SEED  # and sets KWIRE_SEED for the tests

        print(f"KWIRE_SEED={SEED}: what this commit draws, see docs/contributing.md", flush=True)
    set_up(EXTRAS[options.command])
    if checking:
        if options.command == "lint":
            return run_all(CHECKS)
        os.environ.setdefault("HYPOTHESIS_PROFILE", "ci")  # more cases than in the profile "dev"
        with downloading():
            return run_all([*CHECKS, [*PYTEST, *ON_TWO_CORES, *WITH_CI]], beside=COVERAGE)
    whole = options.command == "test" and not options.args
    return run_only([*COMMANDS[options.command], *(ON_TWO_CORES if whole else options.args)])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
    except OSError as error:
        sys.exit(f"dev.py: {error}")
