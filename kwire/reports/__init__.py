"""A whole dump in numbers: counted in one pass and in little memory, and drawn as one HTML file.

Knows decoded frames; knows no files. Imports nothing by itself.
"""
