"""Checks that tests reach every line and take every branch of the modules that read hostile bytes first.

`python -m tests.tools.coverage` runs `SUITE`, prints what is missed in `MODULES`, and fails if anything is. Line and
branch coverage are complete or the check is worth little: what no test reaches is removed, or gets a test. A line that
cannot run says why in a comment `# pragma: no cover`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MODULES = [
    "kwire/codecs/wire/*",
    "kwire/protocol/frames/frame_reader.py",
    "kwire/protocol/frame_parser.py",
    "kwire/protocol/header_reader.py",
    "kwire/protocol/headers/apis.py",
    "kwire/protocol/sasl_tokens.py",
    "kwire/broker/security/api_permissions.py",
]
SUITE = [
    "tests/codecs/wire",
    "tests/protocol",
    "tests/broker/security/test_authentication.py",
    "tests/broker/security/test_authorizer.py",
    "tests/broker/server/test_security.py",
    "tests/client/test_security.py",
    "tests/capture/tcp/test_reassembly.py",
    "tests/codecs/test_message_codec.py",
    "tests/codecs/test_tracing.py",
    "tests/codecs/test_field_search.py",
    "tests/codecs/test_schema_tree.py",
    "tests/schema/test_catalog.py",
    "tests/statistics/test_unanswered_requests.py",
    "tests/render/captured/test_json_lines.py",
    "tests/statistics/test_traffic.py",
    "tests/pickling/test_pickling.py",
    "tests/arrow/test_batch_reader.py",
    "tests/cli/commands/test_stats.py",
    "tests/schema/test_message_classes.py",
    "tests/schema/test_early_access.py",
    "kwire/codecs/wire",
    "kwire/protocol",
    "kwire/broker/security/api_permissions.py",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; return 1 if they fail or something is missed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with tempfile.TemporaryDirectory() as scratch:
        coverage = [sys.executable, "-m", "coverage"]
        data = [f"--data-file={Path(scratch, 'data')}", f"--rcfile={os.devnull}"]
        suite = [path for path in SUITE if (ROOT / path).exists()]
        run = [*coverage, "run", *data, "--branch", f"--include={','.join(MODULES)}", "-m", "pytest", "-q", *suite]
        done = subprocess.run([*run, *given], cwd=ROOT, check=False)
        if done.returncode:
            return 1
        report = [*coverage, "report", *data, "--show-missing", "--skip-covered", "--fail-under=100", "--precision=2"]
        return min(subprocess.run(report, cwd=ROOT, check=False).returncode, 1)


if __name__ == "__main__":
    sys.exit(main())
