"""Frames counted by what they have in common, and who asks for what a release does not speak.

Values in, values out: knows no files and no text. Bodies are decoded only where a column needs them.
"""

from .compatibility import Unspoken, unspoken
from .traffic_counter import COLUMNS, NOTHING, Count, Counted, Row, Traffic

__all__ = ["COLUMNS", "NOTHING", "Count", "Counted", "Row", "Traffic", "Unspoken", "unspoken"]
