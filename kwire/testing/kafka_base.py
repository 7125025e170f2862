"""What `Kafka` and `AsyncKafka` have in common: arguments, addresses, and conditions to wait for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from random import SystemRandom
from typing import Any, Self

from ..broker.groups.modern_group import GroupState
from ..errors import suggestion
from ..protocol.sasl.mechanisms import MECHANISMS
from .cluster_options import ClusterOptions, Tls, topics_of
from .operations import Operations, Rule
from .replay.recording import Recording
from .running_clusters import note_start

INTERVAL = 0.005  # seconds between two checks of a condition
NOT_YET = "the condition does not hold in time"
Text = str | Callable[[], str]  # a text, or a function that returns it when it is needed


class KafkaBase(Operations):
    """The common parts of `Kafka` and `AsyncKafka`."""

    def __new__(cls, *_: Any, **options: Any) -> Self:
        """Create a cluster; raise TypeError for an argument that it does not have."""
        known = signature(cls.__init__).parameters
        for name in options.keys() - known.keys():
            hint = suggestion(name, known) or f"help(kwire.testing.{cls.__name__}) lists all arguments"
            raise TypeError(f"{cls.__name__} has no argument {name!r}; {hint}")
        return super().__new__(cls)

    def __init__(
        self,
        brokers: int = 1,
        *,
        racks: Sequence[str | None] = (),
        log_dirs: int = 1,
        directory: str | Path | None = None,
        partitions: int = 1,
        replication_factor: int | None = None,
        topics: Mapping[str, int] | Iterable[str] = (),
        auto_create_topics: bool = True,
        seed: int | None = None,
        rack_aware_fetch: bool = False,
        users: Mapping[str, str] | None = None,
        sasl_mechanisms: Sequence[str] = MECHANISMS,
        max_reauth: float = 0.0,
        acls: bool = False,
        super_users: Sequence[str] = (),
        tls: Tls | None = None,
        release: str | None = None,
        configs: Mapping[str, str] | None = None,
        realistic: bool = False,
        chaos: int | None = None,
        process: bool = False,
    ) -> None:
        security = users or {}, sasl_mechanisms, max_reauth, acls, super_users, tls, release
        self._plan = ClusterOptions(
            brokers,
            racks,
            log_dirs,
            None if directory is None else Path(directory),
            partitions,
            replication_factor,
            topics_of(topics, partitions),
            auto_create_topics,
            SystemRandom().randrange(1 << 31) if seed is None else seed,  # a recording names it
            rack_aware_fetch,
            *security,
            dict(configs or {}),
            realistic,
            chaos,
        )
        self._is_process = process
        self._addresses: Sequence[Any] = ()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers in the form that clients expect, such as `127.0.0.1:40001,127.0.0.1:40002`."""
        if not self._addresses:
            raise RuntimeError("the cluster does not run; enter it: with Kafka() as kafka")
        return ",".join(map(str, self._addresses))

    def address(self, broker: int) -> str:
        """Return the address of one broker."""
        return self.bootstrap_servers.split(",")[broker - 1]

    @property
    def chaos(self) -> int | None:
        """The seed of lawful disturbances; None without."""
        return self._plan.chaos

    def make_recording(self, test: str = "") -> Recording:
        """Return what the cluster was asked and what it answered, for `save_recording`.

        Args:
            test: the name of the test that failed.
        """
        return Recording.of(self._plan, self._do("recording"), self._do("capture"), test)

    def save_recording(self, path: str | Path) -> None:
        """Write what the cluster was asked and what it answered to one file, which `kwire replay` plays again.

        The file has the frames, the operations of the test, the configuration and the seeds; no passwords. Only the
        newest 64 MiB of frames are kept.

        Args:
            path: the file, a ZIP archive.

        Raises:
            OSError: the file cannot be written.
        """
        self.make_recording().write(path)

    def _begin(self, addresses: Sequence[Any]) -> None:
        self._addresses = addresses
        note_start(self)
        for topic, partitions in self._plan.topics.items():
            self.create_topic(topic, partitions)

    def _is_in(self, group: str, state: str) -> Callable[[], bool]:
        GroupState(state)  # raises ValueError for a state that Kafka does not have
        return lambda: self.group_state(group) == state

    def _failed(self) -> Exception | None:
        """Return the first exception of a function of a rule, or of the broker's own code, once."""
        raise NotImplementedError

    def _report(self, error: Exception | None = None) -> None:
        """Raise the exception that `_failed` returns."""
        error = error or self._failed()
        if error is not None:
            raise error

    def _is_due(self, condition: Callable[[], Any], until: float, what: Text) -> bool:
        """Return whether a condition holds; raises TimeoutError once the time is up, with what is there instead."""
        self._report()
        if condition():
            return True
        if time.monotonic() > until:
            raise TimeoutError(what if isinstance(what, str) else what())
        return False

    def _state_text(self, group: str, state: str, timeout: float) -> Callable[[], str]:
        return lambda: f"group {group!r} is {self.group_state(group)}, not {state}, after {timeout} s"

    def _hits_text(self, rule: Rule, hits: int, timeout: float) -> Callable[[], str]:
        return lambda: f"the rule has applied to {rule.hits} requests, not {hits}, after {timeout} s"

    def _records_text(self, topic: str, count: int, timeout: float) -> Callable[[], str]:
        return lambda: f"topic {topic!r} has {len(self.records(topic))} records, not {count}, after {timeout} s"
