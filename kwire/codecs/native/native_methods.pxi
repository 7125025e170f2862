# The methods of a codec that are native.


@cython.auto_pickle(False)  # so that the codec's own `__reduce__` is used
@cython.binding(False)
@cython.embedsignature(True)
cdef class NativeMethods:
    """Native methods of a codec; this class precedes `Codec` in the bases of its class.

    They avoid the call of a Python function: 75 ns, a third of the time to decode a Heartbeat. For unusual arguments or
    contents, they call the codec's own methods.
    """

    cdef NodeTable table   # None before the first use, or if the codec has another fast path

    cdef inline bint ready(self) except -1:
        if self.table is None:
            path = (<object>self)._fast
            if type(path) is NodeTable:
                self.table = path
        return self.table is not None

    def decode(self, data, *, salvage=False, records="bytes"):
        """Decode a body: see `kwire.Codec.decode`."""
        if type(data) is bytes and salvage is False and self.ready():
            try:
                if records == "bytes":
                    return self.table.message(<bytes>data)
                if records == "view":
                    return self.table.decode_with_views(<bytes>data)
            except (Declined, UnicodeError):
                pass  # so that an error that is raised has no context
            return (<object>self)._decode_refused(data, records=records)
        return super().decode(data, salvage=salvage, records=records)

    def encode(self, message):
        """Encode a message to a body: see `kwire.Codec.encode`."""
        if self.ready():
            try:
                return self.table.bytes_of(<PyObject*>message)
            except (Declined, UnicodeError):
                pass
        return super().encode(message)

    def json_text(self, data, start=0):
        """Turn a body into the text of its JSON form: see `kwire.Codec.json_text`."""
        if type(data) is bytes and type(start) is int and self.ready():
            try:
                return self.table.json_of(<bytes>data, start, True)
            except (Declined, UnicodeError):
                pass
        return super().json_text(data, start)

    def to_json(self, message):
        """Convert a message to Kafka's JSON form: see `kwire.Codec.to_json`."""
        if self.ready():
            try:
                return self.table.to_json(message, True)
            except (Declined, UnicodeError):
                pass
        return super().to_json(message)

    def jsonable(self, message):
        """Return `to_json` without validation: see `kwire.Codec.jsonable`."""
        if self.ready():
            try:
                return self.table.to_json(message, False)
            except (Declined, UnicodeError):
                pass
        return super().jsonable(message)

    def from_json(self, obj, *, defaults=False):
        """Convert Kafka's JSON form to a message: see `kwire.Codec.from_json`."""
        if self.ready():
            try:
                return self.table.from_json(obj, bool(defaults))
            except (Declined, UnicodeError):
                pass
        return super().from_json(obj, defaults=defaults)
