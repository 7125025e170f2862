# Checksums of records, over ranges of bytes.

cdef extern from "checksums.h":
    uint32_t crc32c_from "kwire_crc32c"(uint32_t crc, const uint8_t* p, Py_ssize_t n, bint by_table) noexcept nogil
    uint32_t crc32_from "kwire_crc32"(uint32_t crc, const uint8_t* p, Py_ssize_t n) noexcept nogil
    uint32_t xxh32_from "kwire_xxh32"(const uint8_t* p, Py_ssize_t n) noexcept nogil
    void make_crc_tables "kwire_make_crc_tables"() noexcept nogil

make_crc_tables()


def crc32c(bytes data not None, uint32_t crc=0, *, bint by_table=False):
    """Return the CRC-32C of bytes; `crc` is that of preceding bytes. `by_table` is for tests."""
    return crc32c_from(crc, address_of(data), PyBytes_GET_SIZE(data), by_table)


def crc32(bytes data not None, uint32_t crc=0):
    """Return the CRC-32 of bytes; `crc` is that of preceding bytes."""
    return crc32_from(crc, address_of(data), PyBytes_GET_SIZE(data))


def xxh32(bytes data not None):
    """Return the xxHash32 of bytes, with seed 0."""
    return xxh32_from(address_of(data), PyBytes_GET_SIZE(data))
