"""Renders decoded frames as text: trees, annotated hexdumps, fixtures, JSON lines, HTML.

Colours and widths are in `style.Style`. This file imports nothing, so that `kwire --help` does not load unused modules.
"""
