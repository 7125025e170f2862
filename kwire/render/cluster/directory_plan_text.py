"""A plan for log directories as text: what moves, and how full directories are before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...cluster import LogDir
from ...cluster.plan.directory_plan import Directory, DirectoryPlan
from ..colours import PLAIN, Style
from ..escaping import escape
from ..table import table
from ..value_text import count_text


def directory_plan_lines(
    plan: DirectoryPlan,
    log_dirs: Mapping[int, Mapping[str, LogDir]],
    leave: Collection[Directory],
    style: Style = PLAIN,
) -> Iterator[str]:
    """Yield the lines of a plan: a summary, the moves, and the directories.

    Args:
        plan: the plan.
        log_dirs: the directories of each broker, by path.
        leave: the directories that are to be empty.
        style: the colours.
    """
    moves = plan.moves()
    summary = f"{count_text(len(plan.before), 'replica')}, and nothing to move"
    if moves:
        summary = f"{count_text(len(moves), 'replica')} of {len(plan.before)} move, {plan.moved_bytes()} bytes"
    if plan.stuck:
        summary += f"; {len(plan.stuck)} cannot leave"
    yield style.paint("title", summary)
    if moves:
        yield ""
        rows = []
        for replica, path in sorted(moves.items()):
            broker, topic, index = replica
            rows.append([f"{topic}-{index}", str(broker), str(plan.sizes[replica]), plan.before[replica], path])
        yield from table(["partition", "broker", "bytes", "from", "to"], rows, style)
    yield ""
    rows = []
    for broker, directories in sorted(log_dirs.items()):
        for path, log_dir in directories.items():
            before, after = (plan.load((broker, path), is_after) for is_after in (False, True))
            state = "offline" if log_dir.error_code else "online"
            if (broker, path) in leave:
                state += ", to be left"
            rows.append([str(broker), _change(before[0], after[0]), _change(before[1], after[1]), state, path])
    yield from table(["broker", "replicas", "bytes", "state", "log directory"], rows, style)


def _change(before: int, after: int) -> str:
    return escape(str(before) if before == after else f"{before} -> {after}")
