"""Schema registries: their REST interface."""
