"""Derives cluster state and change events from znodes that any client reads or writes; `kwire.zookeeper` parses them.

Sources: KIP-36 (racks), KIP-112 (events of log directories), KIP-455 (reassignments), KIP-516 (topic ids), KIP-584.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import KwireError
from ...redact.sensitive_configs import is_sensitive
from ...zookeeper import Znode, read_znode
from ..state import ClusterState
from .event import DELETED, Event, ReportedState
from .listed_brokers import Listed
from .metadata_records import HIDDEN

# A path below the prefix (chroot) that a cluster may use.
_PATH = re.compile(
    r"(?P<prefix>(?:/[^/]+)*?)(?P<path>/(?:brokers/(?:ids|topics)(?:/.+)?|controller|cluster/id|feature"
    r"|config/(?:topics|clients|users|brokers|ips)/.+|kafka-acl(?:-extended)?/.+|delegation_token/tokens/.+"
    r"|log_dir_event_notification/.+|admin/reassign_partitions|admin/delete_topics(?:/.+)?))"
)
_CONFIG_TYPES = {"topics": "topic", "clients": "client", "users": "user", "brokers": "broker", "ips": "ip"}
_SCRAM = "SCRAM-"
_DEFAULT = "<default>"


class Znodes:
    """The znodes of a cluster that were read or written.

    Attributes:
        state: brokers, settings and ids.
        is_listed: whether brokers have been listed.
        undecodable: the number of znodes whose JSON does not match their path.

    >>> from kwire.zookeeper import Znode
    >>> znodes = Znodes()
    >>> list(znodes.take(Znode("/brokers/topics/t", b'{"version":1,"partitions":{"0":[1,2]}}', 0, 5)))
    []
    >>> state = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}'
    >>> [event.state.replicas for event in znodes.take(Znode("/brokers/topics/t/partitions/0/state", state, 0, 6))]
    [(1, 2)]
    """

    def __init__(self) -> None:
        self.state: ClusterState = ClusterState()
        self.is_listed: bool = False
        self.undecodable: int = 0
        self._listed: dict[int, Listed] = {}
        self._topics: dict[str, Any] = {}
        self._leaders: dict[tuple[str, int], tuple[Any, int]] = {}
        self._goals: dict[tuple[str, int], tuple[int, ...]] = {}  # reassignments in /admin/reassign_partitions
        self._deleting: set[str] = set()  # topics in /admin/delete_topics
        self._newest: dict[str, tuple[int, bytes | None]] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load a pickle, also of a version that kept less."""
        self.__dict__ = {"_deleting": set()} | state

    @property
    def brokers(self) -> tuple[Listed, ...]:
        """The registered brokers."""
        return tuple(self._listed.values())

    def take(self, znode: Znode) -> Iterator[Event]:
        """Apply the current data of a znode; yield events for the partitions that change. Older data is ignored."""
        match = _PATH.fullmatch(znode.path)
        if match is None:
            return
        path = match["path"]
        if znode.children is not None:
            yield from self._list(path, znode.children, znode.zxid)
            return
        known = self._newest.get(path)
        if known is not None and (znode.zxid < known[0] or (znode.zxid, znode.data) == known):
            return
        self._newest[path] = znode.zxid, znode.data
        yield from self._apply(path, znode)

    def _apply(self, path: str, znode: Znode) -> Iterator[Event]:
        """Apply the newest data of a znode."""
        if (deletion := re.fullmatch(r"/admin/delete_topics/([^/]+)", path)) is not None:
            yield from self._deletion(deletion[1], is_wanted=znode.data is not None)
            return
        try:
            value = None if znode.data is None else read_znode(path, znode.data)
        except KwireError:
            self.undecodable += 1
            return
        if value is None and znode.data is not None:
            return  # brokers create some nodes without data
        for pattern, act in _PATHS.items():
            if (matched := re.fullmatch(pattern, path)) is not None:
                yield from act(self, value, znode, *matched.groups()) or ()

    def _list(self, path: str, children: tuple[str, ...], zxid: int) -> Iterator[Event]:
        known: dict[str, set[str]] = {
            "/brokers/ids": set(map(str, self._listed)),
            "/brokers/topics": set(self._topics),
            "/admin/delete_topics": self._deleting,
        }
        for name in sorted(known.get(path, set()) - set(children)):
            yield from self.take(Znode(f"{path}/{name}", None, -1, zxid))
        if path == "/admin/delete_topics":
            for name in sorted(set(children) - self._deleting):
                yield from self.take(Znode(f"{path}/{name}", b"", -1, zxid))
        self.is_listed = self.is_listed or path == "/brokers/ids"

    def _broker(self, value: Any, znode: Znode, node: str) -> None:
        self.is_listed = True
        if value is None:
            self._listed.pop(int(node), None)
            return
        self.state.offline_dirs.pop(int(node), None)
        endpoints = tuple(value.endpoints or (f"{value.host}:{value.port}",))
        self._listed[int(node)] = Listed(int(node), value.rack or None, endpoints)

    def _topic(self, value: Any, znode: Znode, topic: str) -> Iterator[Event]:
        if value is None:
            self._topics.pop(topic, None)
            self._leaders = {key: leader for key, leader in self._leaders.items() if key[0] != topic}
            yield Event(topic, None, DELETED)
            return
        self._topics[topic] = value
        for index in value.partitions:
            yield from self._event(topic, index)

    def _leader(self, value: Any, znode: Znode, topic: str, index: str) -> Iterator[Event]:
        if value is not None:
            self._leaders[topic, int(index)] = value, znode.version
            yield from self._event(topic, int(index))

    def _deletion(self, topic: str, is_wanted: bool) -> Iterator[Event]:
        """Begin the deletion of a topic; without its znode, it has ended, or an operator has called it off."""
        if is_wanted:
            self._deleting.add(topic)
        else:
            self._deleting.discard(topic)
        for index in self._topics[topic].partitions if topic in self._topics else ():
            yield from self._event(topic, index, is_deleting=is_wanted)

    def has_topic(self, topic: str) -> bool:
        """Whether the znode of a topic exists, so that its deletion has not ended."""
        return topic in self._topics

    def _event(self, topic: str, index: int, is_deleting: bool | None = None) -> Iterator[Event]:
        if (topic, index) not in self._leaders:
            return
        leader, version = self._leaders[topic, index]
        value = self._topics.get(topic)
        replicas = None if value is None else value.partitions.get(index)
        lists: dict[str, Any] = {"adding": None, "removing": None}
        if (topic, index) in self._goals and replicas is not None:
            goal = self._goals[topic, index]
            lists["adding"] = tuple(node for node in goal if node not in replicas)
            lists["removing"] = tuple(node for node in replicas if node not in goal)
        elif value is not None and value.version > 1:
            lists["adding"] = tuple((value.adding_replicas or {}).get(index, ()))
            lists["removing"] = tuple((value.removing_replicas or {}).get(index, ()))
        epoch = None if version < 0 else version
        state = ReportedState(
            leader.leader,
            leader.leader_epoch,
            epoch,
            tuple(leader.isr),
            replicas,
            None,
            _uuid(value and value.topic_id),
            is_deleting=is_deleting if topic not in self._deleting else True,
            **lists,
        )
        yield Event(topic, index, state)

    def _reassign(self, value: Any, znode: Znode) -> Iterator[Event]:
        before = self._goals
        rows = () if value is None else value.partitions
        self._goals = {(row.topic, row.partition): tuple(row.replicas) for row in rows}
        for key in {*before, *self._goals}:
            yield from self._event(*key)

    def _controller(self, value: Any, znode: Znode) -> None:
        self.state.controller_id = -1 if value is None else value.brokerid

    def _cluster(self, value: Any, znode: Znode) -> None:
        self.state.cluster_id = value.id if value is not None else self.state.cluster_id

    def _features(self, value: Any, znode: Znode) -> None:
        levels = {} if value is None else value.features
        self.state.settings.features = {name: max(level.values(), default=0) for name, level in levels.items()}

    def _config(self, value: Any, znode: Znode, kind: str, name: str) -> None:
        settings = self.state.settings
        config = {} if value is None else value.config
        name = "" if name == _DEFAULT else name
        if kind in ("topics", "brokers"):
            shown = {key: HIDDEN if is_sensitive(key) else text for key, text in config.items()}
            settings.configs.pop((_CONFIG_TYPES[kind], name), None)
            settings.configs |= {(_CONFIG_TYPES[kind], name): shown} if shown else {}
            return
        parts = f"{kind}/{name}".split("/")
        pairs = zip(parts[::2], parts[1::2], strict=False)
        entity = tuple((_CONFIG_TYPES.get(part, part), "" if text == _DEFAULT else text) for part, text in pairs)
        numbers = {key: float(text) for key, text in config.items() if _is_number(text)}
        settings.quotas.pop(entity, None)
        settings.quotas |= {entity: numbers} if numbers else {}
        settings.scram.pop(name, None)
        mechanisms = tuple(sorted(key for key in config if key.startswith(_SCRAM)))
        settings.scram |= {name: mechanisms} if mechanisms else {}

    def _acls(self, value: Any, znode: Znode, extended: str | None, kind: str, name: str) -> None:
        acls = self.state.settings.acls
        pattern = (extended or "literal").upper()
        resource = kind.upper(), name, pattern
        for key in [key for key, acl in acls.items() if acl[:3] == resource]:
            del acls[key]
        for position, acl in enumerate(() if value is None else value.acls):
            entry = acl.principal, acl.host, acl.operation.upper(), acl.permission_type.upper()
            acls[*resource, position] = (*resource, *entry)

    def _token(self, value: Any, znode: Znode, token: str) -> None:
        self.state.settings.tokens.pop(token, None)
        if value is not None:
            self.state.settings.tokens[token] = value.owner

    def _log_dir(self, value: Any, znode: Znode, number: str) -> None:
        if value is not None and znode.version <= 0:
            counts = self.state.offline_dirs
            counts[value.broker] = counts.get(value.broker, 0) + 1


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(E-?\d+)?", text) is not None


def _uuid(text: str | None) -> bytes | None:
    try:
        return urlsafe_b64decode(text + "==") if text else None
    except ValueError:
        return None


_PATHS: dict[str, Callable[..., Iterator[Event] | None]] = {
    r"/brokers/ids/(\d+)": Znodes._broker,
    r"/brokers/topics/([^/]+)": Znodes._topic,
    r"/brokers/topics/([^/]+)/partitions/(\d+)/state": Znodes._leader,
    r"/controller": Znodes._controller,
    r"/cluster/id": Znodes._cluster,
    r"/feature": Znodes._features,
    r"/config/(topics|clients|users|brokers|ips)/(.+)": Znodes._config,
    r"/kafka-acl(?:-extended/([^/]+))?/([^/]+)/([^/]+)": Znodes._acls,
    r"/delegation_token/tokens/([^/]+)": Znodes._token,
    r"/log_dir_event_notification/log_dir_event_(-?\d+)": Znodes._log_dir,
    r"/admin/reassign_partitions": Znodes._reassign,
}
