"""SASL with PLAIN and SCRAM, both sides; it handles tokens, but no messages and no sockets."""
