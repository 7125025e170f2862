"""Specs of messages and values: `catalog` finds them, `spec_reader` reads them, `message_spec` has their classes."""
