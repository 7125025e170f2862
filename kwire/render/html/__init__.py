"""HTML: the pages of `kwire explain` and `kwire report`, and messages in notebooks."""
