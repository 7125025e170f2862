"""Takes payloads, secrets and names out of frames, and keeps every size. Knows which field holds what; no files."""

from .masking import mask
from .rewriter import Redactor
from .rules import NAMES, REASONS

__all__ = ["NAMES", "REASONS", "Redactor", "mask"]
