"""The apis of streams groups (KIP-1071)."""
