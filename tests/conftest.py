"""What the tests share: where the material beside the project lies, and how hard hypothesis tries."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sysconfig
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from kwire.codecs import native
from tests import time_limits
from tests.browser import browser
from tests.commands import CommandRunner
from tests.executions import let_executions_agree
from tests.seeds import PROFILE, SEED

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("KWIRE_SHARED", ROOT.parent / "shared"))
# What is marked `ci` without saying so: tests in these folders, and those that ask for these fixtures.
CI_FOLDERS = (ROOT / "tests/spark", ROOT / "kwire/spark", ROOT / "tests/interop")
CI_FIXTURES = {"oracle", "chromium"}
NO_ENGINE = "the native engine was not built"  # the reason of skips which fail where there is a compiler
needs_engine = pytest.mark.skipif(not native.AVAILABLE, reason=NO_ENGINE)
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"there is no {SHARED}")


def spread(cases: Iterable[Any], most: int, arguments: int = 1) -> list[Any]:
    """Mark all but some of the cases of a test for CI.

    Args:
        cases: what a test is parametrised over.
        most: how many of them run everywhere; they are spread evenly.
        arguments: how many arguments a case is.
    """
    found = list(cases)
    step = -(-len(found) // most)
    values = [case if arguments > 1 else (case,) for case in found]
    return [pytest.param(*value, marks=[pytest.mark.ci] * bool(place % step)) for place, value in enumerate(values)]


def each_of(argument: str, cases: Iterable[Any], most: int = 10**6, **options: Any) -> pytest.MarkDecorator:
    """Parametrise a test over material beside the project, `most` cases of which run outside of CI, see `spread`.

    Without that folder the test is skipped; with it, that there is no case is an error of the collection, as
    everywhere (`empty_parameter_set_mark`).
    """
    found, count = list(cases), len(argument.split(","))
    if found or SHARED.is_dir():
        return pytest.mark.parametrize(argument, spread(found, most, count), **options)
    return pytest.mark.parametrize(argument, [pytest.param(*[None] * count, marks=needs_shared, id="no-material")])


_slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", max_examples=10, deadline=None, suppress_health_check=_slow)
settings.register_profile("ci", max_examples=30, deadline=None, suppress_health_check=_slow)
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=_slow)
settings.load_profile(PROFILE)


def spark_is_there() -> bool:
    """Whether pyspark is installed, and a Java to run it; CI says that they must be."""
    java = shutil.which("java") or os.environ.get("JAVA_HOME")
    found = find_spec("pyspark") is not None and bool(java)
    assert found or os.environ.get("KWIRE_SPARK") != "required", f"pyspark and Java are required; Java is {java}"
    return found


class SkipSummary:
    """Counts skipped tests, and prints a line for each reason."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a skipped test."""
        self.count(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a skipped file as one."""
        self.count(report)

    def count(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        """Count a report under its reason, if it is that of a skip."""
        if report.skipped and isinstance(report.longrepr, tuple):
            self.reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the reasons, the most frequent first."""
        if self.reasons:
            terminalreporter.section(f"{self.reasons.total()} skipped")
        for reason, count in self.reasons.most_common():
            terminalreporter.line(f"{count:6}  {reason}")


class Without:
    """Leaves out what cannot be imported or run for want of something."""

    def __init__(self, reason: str, *paths: str) -> None:
        self.reason, self.paths = reason, [ROOT / path for path in paths]

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Return true for what is not looked into."""
        return True if collection_path in self.paths else None

    def pytest_report_header(self) -> str:
        """Return why."""
        return f"left out: {self.reason}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say it at the end as well."""
        terminalreporter.line(self.pytest_report_header())


def lacking(what: str, demand: str = "KWIRE_INTEROP") -> NoReturn:
    """Skip a test for want of programs; fail it where a variable demands them, as for real clients and brokers."""
    (pytest.fail if os.environ.get(demand) == "required" else pytest.skip)(f"there is no {what}")


def compiler() -> str | None:
    """Return the C compiler that this Python builds extensions with; None without one, or if it must not be used."""
    command = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return None if os.environ.get("KWIRE_BUILD") == "none" else shutil.which(command)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail what is skipped for want of the native engine where it can be built: otherwise such tests fall silent."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and NO_ENGINE in report.longrepr[2] and compiler():
        report.outcome = "failed"
        report.longrepr = f"{NO_ENGINE}, or from other sources: python kwire/codecs/native/build_hook.py builds it"
    return report


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its seed
def pytest_configure(config: pytest.Config) -> None:
    """Leave out what has no Spark to run on; let hypothesis draw by our seed."""
    gc.disable()  # until `pytest_collection_finish`
    config.option.hypothesis_seed = config.option.hypothesis_seed or str(SEED)
    if not spark_is_there():
        words = "spark, for pyspark or Java are not there (python3 dev.py ci installs pyspark)"
        config.pluginmanager.register(Without(words, "kwire/spark", "tests/spark"))
    if not is_worker(config):
        config.pluginmanager.register(SkipSummary())
    time_limits.register(config)


def is_worker(config: pytest.Config) -> bool:
    """Whether this is a process of pytest-xdist, which prints nothing."""
    return hasattr(config, "workerinput")


@pytest.hookimpl(tryfirst=True)  # before pytest reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Spark, real brokers or Kafka's classes."""
    for item in items:
        fixtures = CI_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        if fixtures or any(item.path.is_relative_to(folder) for folder in CI_FOLDERS):
            item.add_marker("ci")


def pytest_collection_finish() -> None:
    """Keep what was collected out of the collections of garbage: they took half of the collection of the tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed; let no test be skipped in CI for want of the material beside the project."""
    if not is_worker(session.config):
        words = f"KWIRE_SEED={SEED} HYPOTHESIS_PROFILE={PROFILE} repeats what is drawn"
        session.config.get_terminal_writer().line(words)
    if os.environ.get("CI") and not SHARED.is_dir():
        pytest.exit(f"CI needs the material in {SHARED}", returncode=1)


@pytest.fixture(scope="session", autouse=True)
def both_executions() -> Iterator[None]:
    """Run every test over both executions: compiled and reference are compared wherever something is decoded."""
    with pytest.MonkeyPatch.context() as patch:
        let_executions_agree(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let children die of SIGINT where a parent ignores it, as a script does for `pytest &`: they inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def chromium() -> str:
    """A browser that starts; tests that need it are skipped where there is none, unless KWIRE_BROWSER is `required`."""
    return browser() or lacking("Chromium that starts", "KWIRE_BROWSER")


@pytest.fixture(scope="session")
def command_runner() -> Iterator[CommandRunner]:
    """Runs commands of kwire in processes that need not import it; the first use starts it."""
    runner = CommandRunner()
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of material beside the project; tests that need it are skipped where it is not."""
    if not SHARED.is_dir():
        pytest.skip(f"there is no {SHARED}")
    return SHARED
