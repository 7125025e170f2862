"""The apis that a served broker answers: a file for each, or for two or three that belong together."""
