"""Which (message, version) pairs kwire and others read: .venv/bin/python -m benchmarks.codec.message_coverage

Counts what is installed here: kio and kafka-python (pip install kio kafka-python), franz-go with a Go toolchain,
Kafka's own classes with Java, Maven and the project's shared material. What is not here is left out, and said so.
A pair is a message at one version; a response has as many as its request.
"""

from __future__ import annotations

import importlib.metadata
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.lib.checkouts import ROOT
from kwire.schema.catalog import catalog_for

ORACLE = ROOT.parent / "shared/kafka/oracle/oracle"
GO = """package main
import ("fmt"; "github.com/twmb/franz-go/pkg/kmsg")
func main() {
	pairs := 0
	for key := int16(0); key < 1000; key++ {
		if request := kmsg.RequestForKey(key); request != nil { pairs += int(request.MaxVersion()) + 1 }
	}
	fmt.Println(pairs)
}
"""
Row = tuple[str, int, int | None]


def kwire() -> Row:
    specs = [catalog_for().spec(name) for name in catalog_for().names()]
    requests = sum(len(list(spec.versions)) for spec in specs if spec.type == "request")
    return "kwire", requests, sum(len(list(spec.versions)) for spec in specs)


def kafka(release: str) -> Row:
    if not ORACLE.exists() or not shutil.which("mvn"):
        raise LookupError("Java, Maven and ../shared are needed")
    names = catalog_for().names()
    questions = "".join(json.dumps({"op": "versions", "message": name}) + "\n" for name in names)
    done = subprocess.run([ORACLE, "--release", release], input=questions, capture_output=True, check=True, text=True)
    answers = [json.loads(line[line.index("{") :]) for line in done.stdout.splitlines() if "{" in line]
    counts = {
        name: len([v for v in catalog_for().spec(name).versions if answer["min"] <= v <= answer["max"]])
        for name, answer in zip(names, answers, strict=True)
        if answer["ok"]
    }
    requests = sum(count for name, count in counts.items() if name.endswith("Request"))
    return f"Apache Kafka {release} (Java)", requests, sum(counts.values())


def franz_go() -> Row:
    if not shutil.which("go"):
        raise LookupError("a Go toolchain is needed")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.go").write_text(GO)
        for command in (["go", "mod", "init", "count"], ["go", "get", "github.com/twmb/franz-go/pkg/kmsg@latest"]):
            subprocess.run(command, cwd=folder, capture_output=True, check=True)
        done = subprocess.run(["go", "run", "."], cwd=folder, capture_output=True, check=True, text=True)
        version = re.search(r"kmsg (v\S+)", (Path(folder) / "go.mod").read_text())
    return f"franz-go kmsg {version[1] if version else ''}", int(done.stdout), None


def kio() -> Row:
    import kio.schema  # type: ignore[import-not-found]

    names = [module.name for module in pkgutil.walk_packages(kio.schema.__path__, "kio.schema.")]
    requests = [name for name in names if re.search(r"\.v\d+\.request$", name)]
    messages = [name for name in names if re.search(r"\.v\d+\.\w+$", name)]
    return f"kio {importlib.metadata.version('kio')}", len(requests), len(messages)


def kafka_python() -> Row:
    import kafka.protocol  # type: ignore[import-not-found]

    counts = {"request": 0, "all": 0}
    for path in Path(kafka.protocol.__path__[0]).rglob("*.json"):
        text = path.read_text("utf-8")
        versions, kind = re.search(r'"validVersions": "(\d+)(?:-(\d+))?"', text), re.search(r'"type": "(\w+)"', text)
        if versions and kind:
            count = int(versions[2] or versions[1]) - int(versions[1]) + 1
            counts["all"] += count
            counts["request"] += count * (kind[1] == "request")
    return f"kafka-python {importlib.metadata.version('kafka-python')}", counts["request"], counts["all"]


def main() -> None:
    rows: list[Callable[[], Row]] = [kwire, lambda: kafka("4.4.0"), lambda: kafka("3.9.2"), franz_go, kio, kafka_python]
    print("| implementation | requests | all messages |")
    print("|---|---:|---:|")
    for row in rows:
        try:
            name, requests, messages = row()
            print(f"| {name} | {requests} | {'' if messages is None else messages} |")
        except (ImportError, LookupError, subprocess.CalledProcessError) as error:
            print(f"(left out: {error})", file=sys.stderr)


if __name__ == "__main__":
    main()
