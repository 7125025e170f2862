"""Plans that move replicas between the log directories of their brokers (KIP-113): directories are the lowest level
below racks and brokers.

A directory is left because it fails or is to be removed, and filled because it is new or emptier than the others. Moves
between brokers are a matter of `replica_plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..state import LogDir
from .broker_masks import bits
from .even_bytes import EvenBytes

Directory = tuple[int, str]  # a broker and the path of its log directory
Replica = tuple[int, str, int]  # a broker, a topic and the index of a partition
DIRECTORY_OFFLINE = "its directory is offline"
FULL_WEIGHT = 100  # of the largest volume of a broker
TOLERANCE = 0.1  # of the mean: replicas grow while they are copied, and smaller differences are not worth it


@dataclass(slots=True)
class DirectoryPlan:
    """The directories of replicas before and after the plan.

    Attributes:
        before, after: the path of each replica's directory.
        sizes: the bytes of each replica.
        stuck: replicas that should leave a directory and cannot, each with the reason.
    """

    before: dict[Replica, str] = field(default_factory=dict)
    after: dict[Replica, str] = field(default_factory=dict)
    sizes: dict[Replica, int] = field(default_factory=dict)
    stuck: dict[Replica, str] = field(default_factory=dict)

    def moves(self) -> dict[Replica, str]:
        """Return the new directory of each replica that moves."""
        return {replica: path for replica, path in self.after.items() if path != self.before[replica]}

    def moved_bytes(self) -> int:
        """Return the number of bytes that brokers copy between their directories."""
        return sum(self.sizes[replica] for replica in self.moves())

    def load(self, directory: Directory, is_after: bool) -> tuple[int, int]:
        """Return the number of replicas and the bytes in a directory, before or after the plan."""
        paths = self.after if is_after else self.before
        replicas = [replica for replica, path in paths.items() if (replica[0], path) == directory]
        return len(replicas), sum(self.sizes[replica] for replica in replicas)


def plan_directories(
    log_dirs: Mapping[int, Mapping[str, LogDir]],
    leave: Collection[Directory] = (),
    *,
    balance: bool = True,
    may_move: Callable[[Replica], bool] = lambda replica: True,
    replicas: Collection[Replica] = (),
) -> DirectoryPlan:
    """Return a plan for the directories of each broker.

    1. Replicas leave the given directories, the largest first, each to the emptiest directory with space for it.
    2. With `balance`, the bytes of a broker's online directories become even in proportion to the sizes of their
       volumes, within 10 % if replicas allow it; if a size is unknown, all directories count the same.

    Args:
        log_dirs: the directories of each broker, by path.
        leave: directories that are to be empty.
        balance: whether the other directories of all brokers are balanced.
        may_move: whether a replica may move.
        replicas: the replicas that the brokers have. A broker does not list what its offline directories hold
            (KAFKA_STORAGE_ERROR in DescribeLogDirs), so a replica that is nowhere else is taken to be in them.

    >>> disks = {1: {"/a": LogDir("/a", sizes={("t", 0): 500, ("t", 1): 400}), "/b": LogDir("/b")}}
    >>> plan_directories(disks).moves(), plan_directories(disks, [(1, "/a")], balance=False).moved_bytes()
    ({(1, 't', 0): '/b'}, 900)
    """
    plan = DirectoryPlan()
    for broker, directories in sorted(log_dirs.items()):
        left = {path for node_id, path in leave if node_id == broker}
        _plan_broker(plan, broker, directories, left, balance, may_move)
    with_offline = {
        broker for broker, path in leave if path in log_dirs.get(broker, {}) and log_dirs[broker][path].error_code
    }
    for replica in replicas:
        if replica[0] in with_offline and replica not in plan.before and may_move(replica):
            plan.stuck[replica] = DIRECTORY_OFFLINE
    return plan


def _plan_broker(
    plan: DirectoryPlan,
    broker: int,
    directories: Mapping[str, LogDir],
    left: Collection[str],
    balance: bool,
    may_move: Callable[[Replica], bool],
) -> None:
    """Add the replicas of one broker to a plan."""
    stored = {
        (broker, *key): (path, size) for path, log_dir in directories.items() for key, size in log_dir.sizes.items()
    }
    for replica, (path, size) in stored.items():
        plan.before[replica] = plan.after[replica] = path
        plan.sizes[replica] = size
    open_paths = [path for path, log_dir in directories.items() if not log_dir.error_code and path not in left]
    loads = [sum(directories[path].sizes.values()) for path in open_paths]
    limits = [load + _usable(directories[path]) for path, load in zip(open_paths, loads, strict=True)]
    weights = _weights([directories[path].total for path in open_paths])
    leaving = [replica for replica, (path, _) in stored.items() if path in left and may_move(replica)]
    for replica in sorted(leaving, key=lambda replica: (-plan.sizes[replica], replica)):
        size = plan.sizes[replica]
        if directories[plan.before[replica]].error_code:
            plan.stuck[replica] = DIRECTORY_OFFLINE
            continue
        fitting = [number for number, load in enumerate(loads) if load + size <= limits[number]]
        if not fitting:
            others = "no other directory of its broker"
            plan.stuck[replica] = f"{others} has space for it" if open_paths else f"{others} is online and to be kept"
            continue
        best = min(fitting, key=lambda number: ((loads[number] + size) / weights[number], number))
        loads[best] += size
        plan.after[replica] = open_paths[best]
    movable = [replica for replica in stored if plan.after[replica] in open_paths and may_move(replica)]
    if not balance or len(open_paths) < 2 or not sum(loads):
        return
    chosen = [1 << open_paths.index(plan.after[replica]) for replica in movable]
    sizes = [plan.sizes[replica] for replica in movable]

    def targets(number: int, mask: int, _: int) -> int:
        fitting = (index for index, limit in enumerate(limits) if choice.loads[index] + sizes[number] <= limit)
        return sum(1 << index for index in fitting) & ~mask

    choice = EvenBytes(chosen, sizes, loads, targets, weights, TOLERANCE, TOLERANCE / 4)
    choice.even_out()
    for replica, mask in zip(movable, choice.chosen, strict=True):
        plan.after[replica] = open_paths[next(bits(mask))]


def _usable(log_dir: LogDir) -> int:
    """Return the bytes that can be added to a directory; all that there are if the broker does not report it."""
    return log_dir.usable if log_dir.usable >= 0 else 1 << 62


def _weights(totals: list[int]) -> list[int]:
    """Return weights in proportion to the sizes of volumes.

    >>> _weights([500, 1000]), _weights([500, -1])
    ([50, 100], [1, 1])
    """
    if not totals or min(totals) <= 0:
        return [1] * len(totals)
    return [max(1, round(FULL_WEIGHT * total / max(totals))) for total in totals]
