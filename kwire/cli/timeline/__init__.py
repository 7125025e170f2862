"""`kwire timeline`: reads inputs once, and collects the events in them."""
