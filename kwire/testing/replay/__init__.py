"""What brokers for tests were asked, in one file, and the replay of it."""
