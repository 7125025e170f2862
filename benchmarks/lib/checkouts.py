"""Another checkout's kwire, measured by the benchmark of this one."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# kwire comes from the checkout that PYTHONPATH names; only then this folder is searched, for the benchmark.
_START = f"import kwire, runpy, sys; sys.path.insert(0, {str(ROOT)!r}); runpy.run_module({{!r}}, run_name='__main__')"


def arguments_for(module: str) -> list[str]:
    """Return Python's arguments that run a module of `benchmarks` with the kwire that PYTHONPATH names."""
    return ["-P", "-c", _START.format(module)]
