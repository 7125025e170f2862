"""`kwire diff A B` for two dumps: frame by frame in their order, field by field, then bytes."""

from __future__ import annotations

import argparse
import sys
from itertools import zip_longest

from ..frames import Undecodable
from ..render.framediff import frame_differences
from ..render.style import escape
from ..render.tree import title
from ..render.values import count_text
from .inputs import results
from .terminal import style_for


def diff_dumps(options: argparse.Namespace) -> int:
    """Print what differs between two dumps, then a count. Returns 1 if anything does, or a frame does not decode."""
    style = style_for(sys.stdout, options.color)
    more = {"named": None, "body": False, "hex": None, "profile": options.profile, "schemas": options.schemas}
    more["show_secrets"] = options.show_secrets
    sides = [results(argparse.Namespace(files=[name], **more), trace=True) for name in options.names]
    frames = differ = undecodable = 0
    for one, other in zip_longest(*sides):
        frames += 1
        undecodable += any(isinstance(side, Undecodable) and side.is_failure for side in (one, other))
        if one is None or other is None:
            differ += 1
            name = options.names[0] if other is None else options.names[1]
            print(escape(f"only in {name}: {title(one or other)}"))
            continue
        lines = list(frame_differences(one, other, style))
        if lines:
            differ += 1
            print(escape(f"{title(one)}\n{title(other)}" if title(one) != title(other) else title(one)))
            print("\n".join(lines), flush=True)
    print(f"{count_text(frames, 'frame')}: {frames - differ} the same, {differ} not")
    return 1 if differ or undecodable else 0
