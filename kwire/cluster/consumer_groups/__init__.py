"""Consumer groups of captures: members, subscriptions, assignments, offsets and lag."""
