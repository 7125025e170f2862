"""Events about partitions and brokers, from messages, records of the metadata log and znodes."""

from ...runtime.former_modules import attach_former_names

__getattr__ = attach_former_names(__name__)
