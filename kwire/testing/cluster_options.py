"""The checked arguments of a cluster for tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ..broker import Disk, MemoryDisk, Node, ServedCluster, Settings
from ..broker.configs.effects import FIELDS, OF_ONE_BROKER
from ..broker.security.principals import principal
from ..broker.server.file_disk import FileDisk
from ..broker.settings_configs import describe_unknown, list_without_effect, settings_from
from ..errors.refused import InvalidConfig
from ..protocol.sasl.mechanisms import MECHANISMS

HOST = "127.0.0.1"
PATIENCE = 30.0  # seconds for a process or a thread to begin, or to do an operation


class Tls(NamedTuple):
    """The PEM files of a listener with TLS.

    `certificate` is the certificate of the brokers, and `key` its private key, unless the key is in the same file. With
    `client_ca`, clients need a certificate signed by one of these authorities, and its subject is their principal.
    """

    certificate: str
    key: str | None = None
    client_ca: str | None = None


@dataclass(frozen=True)
class ClusterOptions:
    """The description of a cluster: the checked arguments of `Kafka`. Raises ValueError for impossible numbers."""

    brokers: int = 1
    racks: Sequence[str | None] = ()
    log_dirs: int = 1
    directory: Path | None = None
    partitions: int = 1
    replication_factor: int | None = None
    topics: Mapping[str, int] = field(default_factory=dict)
    auto_create_topics: bool = True
    seed: int | None = None
    rack_aware_fetch: bool = False
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    sasl_mechanisms: Sequence[str] = MECHANISMS
    max_reauth: float = 0.0
    acls: bool = False
    super_users: Sequence[str] = ()
    tls: Tls | None = None
    release: str | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    realistic: bool = False
    chaos: int | None = None

    def __post_init__(self) -> None:
        self._check_lists()
        self._check_configs()
        self._check_numbers()

    def _check_configs(self) -> None:
        """Raise ValueError for configs that Kafka or kwire does not take; warn of those that have no effect."""
        for name, value in self.configs.items():
            if not isinstance(value, str):
                raise TypeError(f"configs are texts: {name!r} is {type(value).__name__} {value!r}")
            if name in OF_ONE_BROKER:
                raise ValueError(f"configs cannot have {name!r}: each broker has its own")
        try:
            settings_from(self.configs)
        except InvalidConfig as error:
            raise ValueError(str(error)) from None
        idle, unknown = list_without_effect(self.configs, self.release)
        if unknown:
            raise ValueError(f"Kafka has no broker config {unknown[0]!r}; {describe_unknown(unknown[0])}".rstrip("; "))
        if idle:
            warnings.warn(f"configs without effect: {', '.join(idle)}", stacklevel=6)

    def _check_numbers(self) -> None:
        for name in ("brokers", "log_dirs", "partitions"):
            if not isinstance(number := getattr(self, name), int):
                raise TypeError(f"{name} is a number, not {type(number).__name__} {number!r}")
        if self.brokers < 1 or self.log_dirs < 1 or self.partitions < 1:
            raise ValueError("a cluster has at least one broker, with one log directory, and topics have a partition")
        if self.chaos is not None and type(self.chaos) is not int:
            raise TypeError(f"chaos is a seed, a whole number, not {type(self.chaos).__name__} {self.chaos!r}")
        if self.racks and len(self.racks) != self.brokers:
            raise ValueError(f"{len(self.racks)} racks for {self.brokers} brokers: name one for each broker")
        if not 1 <= self.replicas <= self.brokers:
            raise ValueError(f"{self.brokers} brokers cannot have {self.replicas} replicas of a partition")

    def _check_lists(self) -> None:
        for name in ("racks", "super_users", "sasl_mechanisms"):
            if isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name} is a list, such as [{value!r}]")
        if unknown := [name for name in self.sasl_mechanisms if name not in MECHANISMS]:
            raise ValueError(f"there is no SASL mechanism {unknown[0]!r}; take from {', '.join(MECHANISMS)}")
        if any(not name or not word or ":" in name or "\n" in name + word for name, word in self.users.items()):
            raise ValueError("users have a name without colon, and a password; neither has a line end")

    @property
    def replicas(self) -> int:
        """The default number of replicas of a partition."""
        return min(3, self.brokers) if self.replication_factor is None else self.replication_factor

    def settings(self) -> Settings:
        """Return the settings of the brokers."""
        given: dict[str, Any] = {
            "auto_create_topics": self.auto_create_topics,
            "num_partitions": self.partitions,
            "default_replication_factor": self.replicas,
            "max_reauth": self.max_reauth,
        }
        for name in set(self.configs) & set(FIELDS):
            given.pop(FIELDS[name][0], None)
        return settings_from(
            self.configs,
            realistic=self.realistic,
            **given,
            rack_aware_fetch=self.rack_aware_fetch or "RackAware" in self.configs.get("replica.selector.class", ""),
            passwords=self.users,
            sasl_mechanisms=tuple(self.sasl_mechanisms) if self.users else (),
            authorizer=self.acls or bool(self.configs.get("authorizer.class.name")),
            super_users=tuple(map(principal, self.super_users)),
            tls=self.tls is not None,
            release=self.release,
            chaos=self.chaos,
        )

    def paths(self, node_id: int, directory: Path | None) -> list[str]:
        """Return the log directories of a broker, in a directory or in memory."""
        names = [f"broker-{node_id}/{number}" for number in range(self.log_dirs)]
        return [f"/memory/{name}" if directory is None else str(directory / name) for name in names]

    def nodes(self) -> list[Node]:
        """Return the brokers."""
        kind: Callable[[str], Disk] = MemoryDisk if self.directory is None else FileDisk
        racks = self.racks or [None] * self.brokers
        return [
            Node(node_id, HOST, 0, rack, [kind(path) for path in self.paths(node_id, self.directory)])
            for node_id, rack in enumerate(racks, 1)
        ]

    def cluster(self, nodes: Sequence[Node]) -> ServedCluster:
        """Return a cluster of these brokers."""
        return ServedCluster(nodes, self.settings(), Random(self.seed))

    def as_json(self, directory: Path) -> dict[str, Any]:
        """Return the cluster as JSON for `kwire serve --cluster`."""
        racks = self.racks or [None] * self.brokers
        rows = [
            {"id": node_id, "host": HOST, "port": 0, "rack": rack, "logDirs": self.paths(node_id, directory)}
            for node_id, rack in enumerate(racks, 1)
        ]
        return {"brokers": rows}


def topics_of(topics: Mapping[str, int] | Iterable[str], partitions: int) -> dict[str, int]:
    """Return the number of partitions of each topic."""
    if isinstance(topics, str):
        raise TypeError(f"topics is a list of names, such as [{topics!r}], or a dict from names to partitions")
    return dict(topics) if isinstance(topics, Mapping) else dict.fromkeys(topics, partitions)
