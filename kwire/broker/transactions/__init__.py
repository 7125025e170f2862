"""Transactions (KIP-98, KIP-890) and their coordinator."""
