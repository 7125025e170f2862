# Times are nanoseconds since 1970 as int64. NONE stands for Python's None, of times and of other numbers.

cdef int64_t SECOND = 1000000000

cdef object BILLION = 1000000000

cdef int64_t NONE = -0x7FFFFFFFFFFFFFFF  # stands for Python's None


cdef inline object number_or_none(int64_t number):
    return None if number == NONE else number


cdef inline int64_t none_or_number(number) except? -1:
    return NONE if number is None else <int64_t>number


cdef bint is_time(now):
    """Whether a time is None, or small enough that differences do not overflow."""
    return now is None or -SECOND * SECOND < now < 8 * SECOND * SECOND
