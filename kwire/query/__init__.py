"""Display filters (`--where`), paths to fields and properties of frames (`--fields`)."""
