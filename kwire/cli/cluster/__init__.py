"""Input and plans of `kwire cluster`, `kwire place` and `kwire assign`."""
