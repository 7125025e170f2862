"""Apis of share groups (KIP-932)."""
