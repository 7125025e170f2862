"""Apis of configs, client quotas and clients' metrics."""
