# A whole frame, with its size, header and body, in one call.


@cython.auto_pickle(False)
cdef class FrameTable:
    """The header and the body of the requests, or of the responses, of an api at one version.

    Args:
        header: the table of the header.
        body: the table of the body.
    """

    cdef NodeTable header, body

    def __cinit__(self, NodeTable header not None, NodeTable body not None):
        self.header, self.body = header, body

    def read(self, bytes data not None):
        """Decode a frame that fills all of the bytes; return its header and its message."""
        cdef Cursor c
        cdef Seen[SEEN] seen
        taken_paths.bodies_read += 1
        stand(&c, data, 0)
        if integer(INT32, take(&c, 4)) != c.end - c.at:
            raise Declined
        header = owned(read(self.header.nodes, &c))
        c.seen = seen
        message = owned(read(self.body.nodes, &c))
        if c.at != c.end:
            raise Declined
        taken_paths.bodies_decoded += 1
        return header, message

    def write(self, header, message):
        """Encode a frame."""
        cdef Output o
        cdef Small small
        taken_paths.bodies_written += 1
        begin(&o, &small)
        try:
            room(&o, 4)
            write(self.header.nodes, <PyObject*>header, &o)
            write(self.body.nodes, <PyObject*>message, &o)
            if o.size - 4 > LONGEST:
                raise Declined
            put_be(o.data, <uint64_t>(o.size - 4), 4)
            taken_paths.bodies_encoded += 1
            return contents(&o)
        finally:
            release(&o)
