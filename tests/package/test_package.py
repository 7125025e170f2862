"""Docstrings, the façade, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

import kwire
from kwire.schema.spec_reader import read_spec
from tests.conftest import ROOT
from tests.package.source_files import FILES, PACKAGE, nodes_of, parsed


def test_a_module_opens_with_what_it_does() -> None:
    for path in FILES:
        opening = ast.get_docstring(parsed(path))
        assert opening, path
        assert len(opening.splitlines()) <= (30 if path.name in ("__init__.py", "decode.py") else 12), path


def test_specs_and_dumps_are_never_run() -> None:
    for path in FILES:
        names = {node.id for node in nodes_of(path) if isinstance(node, ast.Name)}
        own_source = {"exec", "compile"} if path == PACKAGE / "codecs/fallback/source_builder.py" else set()
        assert names & {"eval", "exec", "compile", "__import__"} == own_source, path


def test_the_facade_has_its_listed_names_and_no_name_of_a_module() -> None:
    public_names = import_module("kwire").__all__
    assert len(public_names) > 50
    assert {*public_names, "__version__"} < set(dir(kwire))
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    for name in public_names:
        thing = getattr(kwire, name)
        assert thing.__doc__, name
        assert name in ("messages", "values") or name not in modules, name
    with pytest.raises(AttributeError):
        getattr(kwire, "nonsense")  # noqa: B009 (checkers say so too)


@pytest.mark.parametrize(
    "package", ["kwire", "kwire.cluster", "kwire.spark", "kwire.testing", "kwire.testing.strategies"]
)
def test_a_stub_imports_each_name_in_a_line_of_its_own(package: str) -> None:
    """`lazy_names` reads no other form of import, and type checkers see what it finds."""
    stub = (ROOT / package.replace(".", "/") / "__init__.pyi").read_text("utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    names = [alias.asname for node in imports for alias in node.names if alias.asname == alias.name]
    assert sorted(map(str, names)) == import_module(package).__all__
    assert sum(line.startswith(("from", "import")) for line in stub.splitlines()) == len(names)


def test_packages_with_extras_load_themselves() -> None:
    code = "import kwire; print(kwire.testing.Kafka.__name__, kwire.arrow.read.__name__, kwire.spark.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("Kafka read kwire.spark\n", "")


def test_imports_in_functions_find_what_they_name() -> None:
    """Type checkers do not see what is missing in a package with `__getattr__`, and tests may replace it."""
    missing = []
    for path in FILES:
        folder = path.parent.relative_to(ROOT).parts
        functions = (node for node in nodes_of(path) if isinstance(node, ast.FunctionDef))
        imports = {one for node in functions for one in ast.walk(node) if isinstance(one, ast.ImportFrom)}
        for one in imports:
            place = ".".join((*folder[: len(folder) + 1 - one.level], *filter(None, [one.module])))
            if one.level and not all(is_found(place, alias.name) for alias in one.names):
                missing.append(f"{path.relative_to(ROOT)}:{one.lineno}")
    assert missing == []


def is_found(module: str, name: str) -> bool:
    """Whether a module of kwire has a name, or cannot be imported for want of a library of another project."""
    try:
        return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError as error:
        return not (error.name or "kwire").startswith("kwire")


def test_importing_costs_nothing() -> None:
    program = (
        "import sys, kwire; print(sorted(set(sys.modules) & {'construct', 'msgspec', 'hexdump', 'json', 'numpy'}))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


READERS = (
    "kwire.capture.hex_text kwire.capture.logs kwire.codecs.records kwire.capture.request_logs "
    + "kwire.capture.packet_text"
)
WRITERS = (
    "kwire.codecs.json_reader kwire.codecs.fallback.generated_python kwire.redact "
    + "kwire.render.frame_line kwire.render.frame_tree hexdump subprocess re2"
)


UNNEEDED = "construct shutil lzma bz2 pickle random pdb hashlib asyncio"
CORE = "construct kwire.codecs.message_codec kwire.schema"


@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        ("--help", f"msgspec kwire.codecs {CORE} {READERS} {WRITERS}"),
        ("--version", f"kwire.codecs.wire kwire.messages {CORE} {READERS} {WRITERS}"),
        (
            "stats fixtures/dumps/kafka-3.9-zk.pcap",
            f"{READERS} {WRITERS} kwire.protocol.nested kwire.cluster pyarrow numpy re2 {UNNEEDED}",
        ),
        ("decode fixtures/dumps/kafka-3.9-zk.pcap", f"kwire.cluster pyarrow numpy re2 hexdump {UNNEEDED}"),
    ],
)
@pytest.mark.skipif(kwire.engine != "native", reason="the fallback needs its generator")
def test_a_command_imports_what_it_needs(arguments: str, spared: str) -> None:
    program = (
        "import sys; from kwire.cli.main import main; code = main(sys.argv[2:]); sys.stdout = sys.stderr; "
        "print('imported', *(set(sys.argv[1].split()) & set(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, spared, *arguments.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "imported"


@pytest.mark.parametrize(("command", "count"), [("stats", 290), ("decode", 375)])
@pytest.mark.skipif(kwire.engine != "native", reason="the fallback needs its generator")
def test_the_start_of_a_command_imports_a_limited_number_of_modules(command: str, count: int) -> None:
    """Each takes about 0.3 ms: import on use what a command does not always need, rather than raise the limit."""
    program = (
        "import sys; before = set(sys.modules); from kwire.cli.main import main; main(sys.argv[1:]); "
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    arguments = [sys.executable, "-c", program, command, "fixtures/dumps/kafka-3.9-zk.pcap"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    modules = done.stderr.splitlines()[-1].split()
    assert len(modules) <= count, modules


def test_serving_imports_what_it_needs() -> None:
    """Each module is a part of the server's memory, which 10,000 connections share."""
    program = "import sys, kwire.cli.commands.serve; print(sorted(set(sys.modules) & set(sys.argv[1].split())))"
    spared = "http.server http.client html kwire.capture kwire.capture pyarrow kwire.render.frame_tree hexdump re2"
    done = subprocess.run([sys.executable, "-c", program, spared], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_changelog_names_the_version_or_what_is_to_come() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {kwire.__version__}" in text or "## Unreleased" in text


def test_every_field_of_every_spec_has_a_sentence() -> None:
    count = 0
    for path in sorted((ROOT / "schemas").glob("*/**/*.json")):
        for struct in read_spec(path.read_text("utf-8"), str(path)).structs():
            for field in struct.fields:
                assert len(field.about) > 15, (path, field.name)
                assert field.about.endswith("."), (path, field.name)
                count += 1
    assert count > 2200


def test_the_top_level_is_fixed() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    project = "pyproject.toml kwire schemas tests fixtures README.md CHANGELOG.md LICENSE SECURITY.md benchmarks docs"
    tools = "dev.py .ci .github .gitignore .gitattributes .editorconfig .pre-commit-config.yaml"
    assert {name.split("/")[0] for name in listed.splitlines()} <= {*project.split(), *tools.split()}


def test_the_demo_sets_up_no_extras_and_every_command_has_its_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    dev = import_module("dev")
    assert dev.requirements(dev.EXTRAS["demo"]) == ["-e", "."]
    tested = ",".join(dev.TESTED)
    assert dev.requirements(dev.EXTRAS["lint"])[:3] == ["-e", f".[{tested}]", "pytest>=8"]
    assert {"ruff==0.17.5", "dpkt>=1.9.8"} < set(dev.requirements(dev.EXTRAS["lint"]))
    assert dev.requirements(dev.EXTRAS["ci"])[:2] == ["-e", f".[{tested},connect,plots,polars]"]
    assert "moto[server]>=5,<6" in dev.requirements(dev.EXTRAS["ci"])
    assert set(dev.EXTRAS.values()) == set(dev.SCRIPTS) == set(dev.LAYERS)
    assert set(dev.SECONDS) < set(dev.SCRIPTS)
