"""Plans that move replicas: repaired and balanced with the fewest moves."""
