# Objects that are created and read slot by slot: at the offsets that CPython's member descriptors tell.


cdef inline void fill(PyObject* message, Py_ssize_t slot, PyObject* value) noexcept:
    """Move a reference that the caller owns to an empty slot."""
    (<PyObject**>(<char*>message + slot))[0] = value


cdef inline void put_value(values, Py_ssize_t at, value):
    """Set an empty entry of a new tuple."""
    PyTuple_Put(<PyObject*>values, at, Py_NewRef(<PyObject*>value))


cdef inline object owned(PyObject* made):
    """Return an owned reference as an object whose references Cython counts."""
    result = <object>made
    Py_DECREF(made)
    return result


cdef Py_ssize_t slot_of(message_class, name) except -1:
    """Return the offset of a slot in an object, from CPython's member descriptor; 0 if the attribute is no slot."""
    for owner in message_class.__mro__:
        if name in owner.__dict__:
            member = owner.__dict__[name]
            is_slot = type(member).__name__ == "member_descriptor"
            return (<PyMemberDescrObject*><PyObject*>member).d_member.offset if is_slot else 0
    return 0


cdef bint slots_known() except -1:
    """Whether objects filled slot by slot equal objects created by a call of their class; checked once, on import."""
    cdef PyObject* made
    sample = msgspec.defstruct("Sample", [("a", object), ("b", object, None)], frozen=True, gc=False)
    cdef Py_ssize_t a = slot_of(sample, "a"), b = slot_of(sample, "b")
    if not a or not b or a == b or sample.__basicsize__ != max(a, b) + <Py_ssize_t>sizeof(void*):
        return False
    if PyType_HasFeature(<PyTypeObject*>sample, Py_TPFLAGS_HAVE_GC):
        return False
    called = sample(a=(1,), b="x")
    made = new_struct(<PyTypeObject*>sample)
    fill(made, a, Py_NewRef(<PyObject*>called.a))
    fill(made, b, Py_NewRef(<PyObject*>called.b))
    filled = owned(made)
    return filled == called and hash(filled) == hash(called) and repr(filled) == repr(called)


cdef bint SLOTS_KNOWN = slots_known()
USES_SLOTS = bool(SLOTS_KNOWN)


def use_slots(bint wanted):
    """Choose how objects are created and read, for tests: at the offsets of their slots, or by calls of their class."""
    global SLOTS_KNOWN
    SLOTS_KNOWN = wanted and USES_SLOTS
