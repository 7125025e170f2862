"""Masks secrets in output, and removes payloads, secrets and names from frames, whose sizes stay the same."""

from .masking import mask
from .rewriter import Redactor
from .rules import NAMES, REASONS

__all__ = ["NAMES", "REASONS", "Redactor", "mask"]
