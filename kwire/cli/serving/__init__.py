"""What `kwire serve` is configured with."""
