"""Runs a cluster for tests as a process of `kwire serve`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..broker.server.control_client import ControlClient
from ..errors import CallError
from .cluster_options import PATIENCE, ClusterOptions


def _security_options(plan: ClusterOptions, folder: Path) -> list[str]:
    """Return the security options for `kwire serve`; passwords are in a file that other users cannot read."""
    options = ["--release", plan.release] if plan.release else []
    if plan.users:
        file = folder / "users"
        file.touch(0o600)
        file.write_text("".join(f"{name}:{password}\n" for name, password in plan.users.items()), "utf-8")
        options += ["--sasl-users", str(file), "--sasl-mechanisms", ",".join(plan.sasl_mechanisms)]
        options += ["--max-reauth", str(plan.max_reauth)]
    if plan.tls is not None:
        for name, pem_file in zip(("--tls-cert", "--tls-key", "--tls-client-ca"), plan.tls, strict=True):
            options += [name, str(pem_file)] if pem_file else []
    if plan.acls:
        options += ["--acls", *(word for name in plan.super_users for word in ("--super-user", name))]
    return options


class AsProcess:
    """A cluster that `kwire serve` runs."""

    def __init__(self, plan: ClusterOptions) -> None:
        self._client: ControlClient | None = None
        self._failures: list[str] = []
        self._folder = TemporaryDirectory(prefix="kwire-")
        folder = Path(self._folder.name)
        (folder / "cluster.json").write_text(json.dumps(plan.as_json(plan.directory or folder)), "utf-8")
        options = ["--control", "0"]
        options += [] if "num.partitions" in plan.configs else ["--partitions", str(plan.partitions)]
        if "default.replication.factor" not in plan.configs:
            options += ["--replication-factor", str(plan.replicas)]
        options += [] if plan.seed is None else ["--seed", str(plan.seed)]
        options += [] if plan.auto_create_topics else ["--no-auto-create"]
        options += ["--rack-aware-fetch"] if plan.rack_aware_fetch else []
        options += [word for name, value in plan.configs.items() for word in ("--set", f"{name}={value}")]
        options += ["--realistic"] if plan.realistic else []
        options += [] if plan.chaos is None else ["--chaos", str(plan.chaos)]
        options += _security_options(plan, folder)
        command = [sys.executable, "-u", "-m", "kwire", "serve", "--cluster", str(folder / "cluster.json"), *options]
        with (folder / "places").open("w") as places, (folder / "log").open("w") as log:
            self._process = subprocess.Popen([*command, "--json"], stdout=places, stderr=log)
        try:
            announcement = self._wait_for_announcement(folder)
        except CallError:
            self.stop()
            raise
        self.addresses: list[str] = announcement["bootstrapServers"].split(",")
        self._client = ControlClient(announcement["control"], announcement["controlToken"])

    def _wait_for_announcement(self, folder: Path) -> dict[str, str]:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            ended = self._process.poll() is not None
            if (line := (folder / "places").read_text("utf-8")).endswith("\n"):
                return dict(json.loads(line))
            if ended:
                break
            time.sleep(0.01)
        raise CallError("kwire serve", f"it does not begin: {(folder / 'log').read_text('utf-8').strip()}", "")

    def do(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Perform an operation of `Control` and return its result."""
        assert self._client is not None
        return self._client.do(operation, arguments)

    def failed(self) -> Exception | None:
        """Return an exception with the errors in the broker's own code, once the cluster is stopped; rules have no
        functions in another process."""
        failures = self._failures
        self._failures = []
        return RuntimeError("\n".join(failures)) if failures else None

    def stop(self) -> None:
        """Stop the cluster."""
        if self._client is not None:
            with suppress(CallError):  # it has ended already
                self._failures = self._client.do("failures", {})
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
