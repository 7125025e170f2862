"""Events about partitions and brokers, from messages, records of the metadata log and znodes."""
