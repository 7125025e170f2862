"""Where the data that comes with kwire lies: the specs and the tables. Knows the folder, not what is in it."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
# In the wheel the folder lies in the package, in a checkout beside it.
SCHEMAS = _HERE / "schemas" if (_HERE / "schemas").is_dir() else _HERE.parent / "schemas"
