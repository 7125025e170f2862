"""Takes payloads, secrets and names out of frames, and keeps every size. Knows which field holds what; no files."""

from .frames import Redactor
from .rules import NAMES, REASONS
from .sealing import seal

__all__ = ["NAMES", "REASONS", "Redactor", "seal"]
