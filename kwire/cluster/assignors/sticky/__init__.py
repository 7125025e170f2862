"""The sticky assignors: members keep their partitions as far as balance and racks allow."""
