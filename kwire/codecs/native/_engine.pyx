# cython: language_level=3, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
# cython: embedsignature.format=clinic, nonecheck=True
"""The native interpreter: one walk over a table of nodes decodes, encodes, writes JSON text, and skips.

It does not explain errors: bytes that it does not accept raise `Declined`, and the reference execution then decodes the
same bytes and raises the error with path, offset and reason. All bytes are read and written within checked bounds
(`bounds.pxi`). A count is compared with the remaining bytes before memory is allocated for it. Tables are immutable, so
threads share them without a lock. README.md is a map of the files.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Size
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject, Py_TPFLAGS_HAVE_GC
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.math cimport floor, rint
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

import sys

import msgspec

# Objects are passed as pointers where this avoids reference counting, which took a fifth of the time. As in CPython's C
# API, a returned `PyObject*` is a new reference, and an argument is a borrowed one.
cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    PyObject* Py_NewRef(PyObject*)
    void Py_DECREF(PyObject*)
    PyTypeObject* Py_TYPE(PyObject*)
    Py_ssize_t Py_REFCNT(PyObject*)
    PyObject* PyBytes_New "PyBytes_FromStringAndSize"(const char* data, Py_ssize_t size) except NULL
    PyObject* PyFloat_FromDouble(double) except NULL
    PyObject* PyUnicode_DecodeUTF8(const char* text, Py_ssize_t size, const char* errors) except NULL
    PyObject* PyTuple_Make "PyTuple_New"(Py_ssize_t size) except NULL
    bint PyTuple_CheckExact(PyObject*)
    Py_ssize_t PyTuple_SizeOf "PyTuple_GET_SIZE"(PyObject* items)
    PyObject* PyTuple_GetItemOf "PyTuple_GET_ITEM"(PyObject* items, Py_ssize_t at)
    void PyTuple_Put "PyTuple_SET_ITEM"(PyObject* items, Py_ssize_t at, PyObject* item)
    object PyUnicode_DecodeUTF8Of "PyUnicode_DecodeUTF8"(const char* text, Py_ssize_t size, const char* errors)
    void* PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    Py_ssize_t PyBytes_SizeOf "PyBytes_GET_SIZE"(PyObject*)
    const char* PyBytes_DataOf "PyBytes_AS_STRING"(PyObject*)
    double PyFloat_AS_DOUBLE(PyObject*)
    bint PyType_HasFeature(PyTypeObject* cls, unsigned long feature)
    bint PyBytes_CheckExact(PyObject*)
    bint PyFloat_Check(PyObject*)
    bint PyLong_CheckExact(object)
    bint PyUnicode_CheckExact(PyObject*)
    void PyObject_GC_UnTrack(PyObject*)
    PyObject* PyDict_GetItem(object, object)
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    bint PyFloat_CheckExact(object)
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member

cdef extern from "c_helpers.h":
    uint16_t be16 "kwire_be16"(const uint8_t* p) noexcept nogil
    uint32_t be32 "kwire_be32"(const uint8_t* p) noexcept nogil
    uint32_t le32 "kwire_le32"(const uint8_t* p) noexcept nogil
    uint64_t be64 "kwire_be64"(const uint8_t* p) noexcept nogil
    void put_be "kwire_put_be"(uint8_t* p, uint64_t v, int n) noexcept nogil
    int text_has "kwire_text_has"(const uint8_t* p, Py_ssize_t n) noexcept nogil
    bint is_printable "kwire_is_printable"(const uint8_t* p, Py_ssize_t n) noexcept nogil
    PyObject* new_integer "kwire_new_integer"(int64_t v) except NULL
    bint integer_of "kwire_value"(PyObject* v, int64_t* value) noexcept
    const char* utf8_of "kwire_utf8"(PyObject* v, Py_ssize_t* size) except NULL
    bint same_bytes "kwire_same"(const uint8_t* p, const uint8_t* q, Py_ssize_t n) noexcept nogil
    uint32_t hash_of "kwire_hash"(const uint8_t* p, Py_ssize_t n) noexcept nogil
    PyObject* new_struct "kwire_new_struct"(PyTypeObject* cls) except NULL
    PyObject* new_text "kwire_new_text"(const uint8_t* p, Py_ssize_t n) except NULL
    int32_t signed32 "kwire_signed32"(uint32_t v) noexcept nogil
    void prefetch "kwire_prefetch"(const void* p) noexcept nogil
    const uint32_t KWIRE_SOURCES
    int64_t signed64 "kwire_signed64"(uint64_t v) noexcept nogil


SOURCES = KWIRE_SOURCES  # see `fingerprint`


class Declined(Exception):
    """Bytes or values that are left to the reference execution."""


cdef struct Paths:         # see `path_counts`
    int64_t bodies_read, bodies_decoded, bodies_written, bodies_encoded, texts_begun, texts_written
    int64_t columns_filled, columns_left
    int64_t packets_taken, packets_left
    int64_t frames_counted, frames_left, lines_written, lines_left, rows_added, rows_left
    int64_t batches_checked, batches_left

cdef Paths taken_paths


def path_counts():
    """Return how often work was done here, and how often it was left to the general path; for tests.

    Each pair counts one kind of work since the engine was loaded, approximately where threads run without the GIL:
    bodies decoded and encoded, JSON texts of bodies, bodies in columns, packets, frames that were counted, lines of
    frames, rows of frames, and batches of records that were checked. Of a body that is decoded again by the reference
    after it was refused here, the first attempt counts as left.
    """
    cdef Paths* paths = &taken_paths
    return {
        "decode": (paths.bodies_decoded, paths.bodies_read - paths.bodies_decoded),
        "encode": (paths.bodies_encoded, paths.bodies_written - paths.bodies_encoded),
        "json": (paths.texts_written, paths.texts_begun - paths.texts_written),
        "columns": (paths.columns_filled, paths.columns_left),
        "packets": (paths.packets_taken, paths.packets_left),
        "frames": (paths.frames_counted, paths.frames_left),
        "lines": (paths.lines_written, paths.lines_left),
        "rows": (paths.rows_added, paths.rows_left),
        "batches": (paths.batches_checked, paths.batches_left),
    }


cdef int refuse() except -1:
    """Raise Declined. A call compiles to less code than the statement, so that the compiler inlines the callers."""
    raise Declined


include "bounds.pxi"
include "slots.pxi"
include "node_table.pxi"
include "primitives.pxi"
include "json_text.pxi"
include "decode.pxi"
include "skip.pxi"
include "encode.pxi"
include "json_values.pxi"
include "body_facts.pxi"
include "checksums.pxi"
include "snappy.pxi"
include "record_layout.pxi"
include "record_check.pxi"
include "record_read.pxi"
include "record_batches.pxi"
include "record_build.pxi"
include "native_methods.pxi"
include "frame_table.pxi"
include "columns.pxi"
include "column_runs.pxi"
include "column_values.pxi"
include "column_memory.pxi"
include "times.pxi"
include "packet_layouts.pxi"
include "packet_groups.pxi"
include "conversation.pxi"
include "frame_buffer.pxi"
include "frame_search.pxi"
include "gap_splitter.pxi"
include "buffered_segments.pxi"
include "tcp_streams.pxi"
include "tcp_connections.pxi"
include "tcp_table.pxi"
include "packet_walker.pxi"
include "pairing.pxi"
include "frame_rows.pxi"
include "frame_batch.pxi"
include "frame_kinds.pxi"
include "frame_counts.pxi"
include "frame_words.pxi"
include "frame_lines.pxi"
include "frame_selection.pxi"
