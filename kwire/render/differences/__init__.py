"""Differences of values, fields, frames and layouts."""
