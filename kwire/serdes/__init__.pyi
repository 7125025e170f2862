from .record_deserializer import RecordDeserializer as RecordDeserializer
from .schema_document import SchemaDocument as SchemaDocument
from .schema_document import SchemaSource as SchemaSource
from .schema_error import SchemaError as SchemaError
from .schema_folder import SchemaFolder as SchemaFolder
from .schema_value import SchemaValue as SchemaValue
