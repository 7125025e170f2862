"""Placement of replicas over brokers and racks."""
