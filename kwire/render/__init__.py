"""Decoded frames become text: trees for people, annotated hexdumps, fixtures, JSON lines.

Knows no files, and no terminal but what `style.Style` tells it. Imports nothing by itself, so that
`kwire --help` need not load what it does not print.
"""
