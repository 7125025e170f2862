"""The table of commands and the modules of `kwire.cli.commands` agree."""

from __future__ import annotations

import inspect
import re

import pytest

from kwire.cli.command_table import COMMANDS, import_command
from tests.conftest import ROOT


def test_every_command_has_a_module_and_every_module_is_a_command() -> None:
    modules = {path.stem for path in (ROOT / "kwire/cli/commands").glob("*.py")} - {"__init__"}
    assert set(COMMANDS) == modules
    assert len(set(COMMANDS.values())) == len(COMMANDS) > 20


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_examples_arguments_and_a_function_to_run(name: str) -> None:
    command = import_command(name)
    assert re.match(rf"  kwire {name}\b", command.EXAMPLES)
    assert command.EXAMPLES.endswith("\n")
    assert [*inspect.signature(command.add_arguments).parameters] == ["parser"]
    assert [*inspect.signature(command.run).parameters] == ["options"]
