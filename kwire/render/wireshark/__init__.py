"""A dissector for Wireshark in Lua: an interpreter, and tables of all layouts from the schemas."""
