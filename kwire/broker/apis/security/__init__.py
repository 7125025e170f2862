"""Apis of security: SASL, SCRAM credentials, ACLs and delegation tokens."""
