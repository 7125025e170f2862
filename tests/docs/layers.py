"""The picture of the layers in docs/architecture.md, drawn from the contract that import-linter checks.

`python -m tests.docs.layers` draws it anew in the page.
"""

from __future__ import annotations

import re
import tomllib

from tests.conftest import ROOT

PAGE = ROOT / "docs/architecture.md"
MARKED = re.compile(r"(<!-- layers -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def picture() -> str:
    """Draw a box for each package or module, a row for each layer, as a code block."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == ["kwire"])
    rows = [" | ".join(name.strip() for name in re.split(r"[|:]", layer)) for layer in layers]
    width = max(map(len, rows))
    edge = f"+-{'-' * width}-+"
    lines = [edge]
    for row in rows:
        lines += [f"| {row.center(width)} |", edge]
    lines[len(lines) // 2 - 1] += "   imports"
    lines[len(lines) // 2] += "      |"
    lines[len(lines) // 2 + 1] += "      v"
    return "\n".join(["```text", *lines, "```", ""])


if __name__ == "__main__":
    PAGE.write_text(MARKED.sub(lambda found: found[1] + picture() + found[3], PAGE.read_text("utf-8")), "utf-8")
