"""Writes the man page and the completion scripts that wheels install into `share/`: `docs/share`.

`python -m tests.tools.shared_files` writes them anew after a change of commands, options or help topics; a test says
when that is due. pipx and packages of distributions put them where man and the shells look.
"""

from __future__ import annotations

from pathlib import Path

import kwire
from kwire.cli.help.man_page import man_page
from kwire.cli.help.shell_completion import SCRIPTS
from kwire.cli.main import parser_for

FOLDER = Path(__file__).parent.parent.parent / "docs" / "share"
# Where bash-completion, zsh and fish load the completions of a command from, on its first TAB.
COMPLETIONS = {
    "bash": "bash-completion/completions/kwire",
    "zsh": "zsh/site-functions/_kwire",
    "fish": "fish/vendor_completions.d/kwire.fish",
}


def shared_files() -> dict[str, str]:
    """Return the text of each file by its path in `share/`."""
    files = {path: SCRIPTS[shell] for shell, path in COMPLETIONS.items()}
    return {**files, "man/man1/kwire.1": man_page(parser_for(), kwire.__version__)}


def main() -> None:
    """Write the files."""
    for name, text in shared_files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
