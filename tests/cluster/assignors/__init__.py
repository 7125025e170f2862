"""Tests of the consumer assignors."""
