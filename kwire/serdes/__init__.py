"""Keys and values of records by schema (Avro, JSON Schema, Protobuf): what does this key or value say?

`RecordDeserializer` answers for every command and table. It asks a source of schemas: a folder (`SchemaFolder`) or a
schema registry (`kwire.client.registry.schema_registry`). The libraries that read values are the extra `values`.
"""

from ..runtime.lazy_names import attach_stub

__getattr__, __dir__ = attach_stub(__name__)  # the names are in `__init__.pyi`
