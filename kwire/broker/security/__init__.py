"""Security of a served broker: SASL sessions, principals, ACLs."""
