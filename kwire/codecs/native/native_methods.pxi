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

    def decode(self, data, *, salvage=False):
        """Decode a body: see `kwire.Codec.decode`."""
        if type(data) is bytes and salvage is False and self.ready():
            try:
                return self.table.message(<bytes>data)
            except (Declined, UnicodeError):
                pass
        return super().decode(data, salvage=salvage)

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
