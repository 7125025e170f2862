# Which frames a query selects, before their lines are written.
# `kwire.query.captured_query` compiles the tests of each kind of frame.

cdef enum:
    LEFT_TO_PYTHON, EXCLUDED, SELECTED
    MOST_ANSWERS = 4096        # of a kind, by endpoints: these are kept alive


cdef class Selection:
    """The query of a writer: `kind.test` selects frames, `kind.row` writes their rows."""

    cdef public bint decodes      # selected frames are decoded
    cdef public bint counts       # selected frames are counted only
    cdef public bint has_rows     # selected frames are written by `kind.row`
    cdef public object summary    # the `MessageSummary` that learns the names of topic ids
    cdef public int64_t shown     # selected frames, except those left to `writer.rest`
    cdef public int64_t limit     # the number of frames after which to stop

    def __cinit__(self, *arguments, **named):
        self.limit = 1 << 62


cdef int select(const Captured* frame, writer, Taken taken, int64_t number, Selection query, Output* o) except -1:
    """Return whether a query selects a frame; the row of a selected frame is written here."""
    cdef KindState kind = kind_of(frame, writer, taken.call)
    cdef const uint8_t* p = bytes_of_frame(frame)
    cdef Py_ssize_t start = 0 if kind is None or frame.now < SECOND else kind.body_start(p, frame.size)
    cdef tuple item = None
    if not start:
        return LEFT_TO_PYTHON
    if kind.learns is not None:
        if not kind.learns.find(p + start, frame.size - start, &taken.facts):
            return LEFT_TO_PYTHON
        learn_topics(query.summary, &taken.facts, 0)
    if kind.test is False:
        meet(frame, writer, taken.connection, kind, start)
        return EXCLUDED
    if kind.test is not True:
        if kind.answers is not None:
            answer = answer_of(frame, taken, kind, number, start)
        else:
            item = item_of(frame, taken, kind, number, start)
            answer = kind.test(item)
        if answer is None:
            return LEFT_TO_PYTHON
        if not answer:
            meet(frame, writer, taken.connection, kind, start)
            return EXCLUDED
    if query.decodes:
        return LEFT_TO_PYTHON
    if query.has_rows:
        text = kind.row(item_of(frame, taken, kind, number, start) if item is None else item)
        if text is None:
            return LEFT_TO_PYTHON
        put_text(o, text)
    if query.has_rows or query.counts:
        meet(frame, writer, taken.connection, kind, start)
    return SELECTED


cdef object answer_of(const Captured* frame, Taken taken, KindState kind, int64_t number, Py_ssize_t start):
    """Return the answer of a test that reads nothing but endpoints: it is asked once for each."""
    cdef PyObject* known = PyDict_GetItemWithError(kind.answers, <object>frame.ends)
    if known != NULL:
        return <object>known
    answer = kind.test(item_of(frame, taken, kind, number, start))
    if len(kind.answers) >= MOST_ANSWERS:
        kind.answers.clear()
    kind.answers[<object>frame.ends] = answer
    return answer


cdef tuple item_of(const Captured* frame, Taken taken, KindState kind, int64_t number, Py_ssize_t start):
    """Return what tests and rows read; the order is that of `kwire.query.captured_query`."""
    cdef const uint8_t* p = bytes_of_frame(frame)
    cdef object latency = None, body = None
    time = <object>frame.now / BILLION
    if not frame.is_request and taken.sent.now != NONE:
        latency = latency_of(&taken.sent, time)
    request_frame = None if frame.is_request or taken.sent.frame < 0 else taken.sent.frame
    if kind.reads_body:
        body = copied(p, frame.size, start, frame.size)
    correlation_id = int32_at(p, frame.size, 8 if frame.is_request else 4)
    return number, time, frame.size, latency, request_frame, <object>frame.ends, taken.connection, correlation_id, body
