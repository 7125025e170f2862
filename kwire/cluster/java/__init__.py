"""The parts of Java's library that affect Kafka's results."""
