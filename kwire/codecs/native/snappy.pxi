# Decompresses the records of batches that are only checked. What is refused here is left to `compression/snappy.py`.

cdef extern from "snappy.h":
    Py_ssize_t snappy_all "kwire_snappy_all"(const uint8_t* p, Py_ssize_t n, uint8_t* out, Py_ssize_t limit) noexcept nogil


def inflate_snappy(bytes data not None, Py_ssize_t start, Py_ssize_t limit):
    """Return the decompressed bytes of snappy, with or without snappy-java's framing, from a position on.

    None for what is damaged, unusual or larger than `limit`. Memory is bounded by the input: three bytes become at most
    64.
    """
    cdef Py_ssize_t size = PyBytes_GET_SIZE(data) - start, total
    cdef bytes out
    if not is_inside(PyBytes_GET_SIZE(data), start, size):
        return None
    total = snappy_all(address_of(data) + start, size, NULL, limit)
    if total <= 0:
        return None
    out = PyBytes_FromStringAndSize(NULL, total)
    return out if snappy_all(address_of(data) + start, size, <uint8_t*>PyBytes_AS_STRING(out), limit) == total else None
