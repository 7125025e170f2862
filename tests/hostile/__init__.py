"""Tests of hostile peers."""
