# The lines of frames, as text and as JSON.


cdef bint write_json(const Captured* frame, writer, Taken taken, int64_t number, Output* o) except -1:
    """Write the JSON line of a request or response; False if its body must be decoded."""
    cdef KindState kind = kind_of(frame, writer, taken.call)
    cdef PairingState connection = taken.connection
    cdef const uint8_t* p = bytes_of_frame(frame)
    cdef Py_ssize_t start = 0 if kind is None or frame.now < SECOND else kind.body_start(p, frame.size)
    cdef Py_ssize_t written
    cdef tuple texts
    cdef object body = None
    if not start:
        return False
    texts = connection.note if connection.note is not None else writer.begin(<object>frame.ends).note
    put_bytes(o, writer.heads[frame.is_request])
    put_decimal(o, number)
    put(o, b',"offset":', 10)
    put_decimal(o, frame.offset)
    put(o, b',"time":', 8)
    time = <object>frame.now / BILLION
    put_text(o, repr(time))
    if not frame.is_request:
        write_link(&taken.sent, time, o)
    put_bytes(o, texts[frame.is_request])
    put_bytes(o, kind.front)
    put_decimal(o, int32_at(p, frame.size, 8 if frame.is_request else 4))
    put_bytes(o, kind.back)
    written = o.size
    if not (
        write_body(kind, &taken.facts, p + start, frame.size - start, o)
        and (kind.facts is None or not kind.facts.has_ids or write_names(writer.summary, &taken.facts, o))
    ):
        o.size = written
        body = writer.body_text(kind, copied(p, frame.size, start, frame.size))
        if body is None:
            return False
        put_text(o, body)
    put(o, b"}\n", 2)
    meet(frame, writer, connection, kind, start)
    return True


cdef int write_link(const SentRequest* sent, double time, Output* o) except -1:
    """Write the properties of a response that come from its request; `time` is that of the response, in seconds."""
    if sent.now != NONE:
        put(o, b',"latencySeconds":', 18)
        put_float(o, latency_of(sent, time))
    if sent.frame >= 0:
        put(o, b',"requestFrame":', 16)
        put_decimal(o, sent.frame)
    return 0


cdef double latency_of(const SentRequest* sent, double time) except? -1:
    """Return the time between request and response, as `results.seconds_between` does."""
    return rint((time - <double>(<object>sent.now / BILLION)) * 1e6) / 1e6


cdef bint write_text(const Captured* frame, writer, Taken taken, int64_t number, int64_t* day, Output* o) except -1:
    """Write the text line of a request or response; False if its body must be decoded."""
    cdef KindState kind = kind_of(frame, writer, taken.call)
    cdef const uint8_t* p = bytes_of_frame(frame)
    cdef Py_ssize_t start = 0, line, width
    cdef double time
    cdef int64_t seconds, micros
    if kind is not None and kind.facts is not None and frame.now >= 0:
        start = kind.body_start(p, frame.size)
    if not start or not kind.facts.find(p + start, frame.size - start, &taken.facts):
        return False
    meet(frame, writer, taken.connection, kind, start)
    time = <double>(<object>frame.now / BILLION)
    seconds, micros = <int64_t>floor(time), <int64_t>rint((time - floor(time)) * 1e6)  # as datetime's
    seconds, micros = seconds + micros // 1000000, micros % 1000000
    if seconds // 86400 != day[0]:
        put_text(o, writer.date(time))
        day[0] = seconds // 86400
    put_bytes(o, writer.colour[0])
    line = o.size
    put_bytes(o, writer.label)
    put_padded(number, 0, 5, True, o)
    put(o, b" ", 1)
    put_time_of_day(seconds % 86400, micros, o)
    put_bytes(o, kind.front)
    put_padded(int32_at(p, frame.size, 8 if frame.is_request else 4), c'#', 5, False, o)
    put(o, b" ", 1)
    put_padded(frame.size, 0, 5, True, o)
    put(o, b" B", 2)
    width = min(<Py_ssize_t>writer.width, PY_SSIZE_T_MAX >> 4)
    write_words(frame, writer, taken, kind, time, line + 4 * width, o)
    finish_line(writer, line, width, o)
    return True


cdef int put_time_of_day(int64_t seconds, int64_t micros, Output* o) except -1:
    """Write a time of day with milliseconds, rounded down, as `line.time_text` does, and a blank."""
    cdef uint8_t* q = room(o, 13)
    q[2] = q[5] = c':'
    q[8], q[12] = c'.', c' '
    put_digits(q, seconds // 3600, 2)
    put_digits(q + 3, seconds // 60 % 60, 2)
    put_digits(q + 6, seconds % 60, 2)
    put_digits(q + 9, micros // 1000, 3)
    return 0


cdef inline void put_digits(uint8_t* q, int64_t value, int count) noexcept:
    while count:
        count -= 1
        q[count] = <uint8_t>(c'0' + value % 10)
        value //= 10


cdef int put_padded(int64_t value, uint8_t sign, int width, bint right, Output* o) except -1:
    """Write a sign (0 for none) and a number, padded to a width."""
    cdef Py_ssize_t start = o.size, size
    if sign:
        room(o, 1)[0] = sign
    put_decimal(o, value)
    size = o.size - start
    if size < width:
        room(o, width - size)
        if right:
            memmove(o.data + start + width - size, o.data + start, size)
        memset(o.data + start + (0 if right else size), c' ', width - size)
    return 0


cdef int finish_line(writer, Py_ssize_t start, Py_ssize_t width, Output* o) except -1:
    """End a line, and shorten one that is too wide; its writer escapes one that is not printable ASCII."""
    cdef bint is_plain = True
    cdef Py_ssize_t i
    while o.size > start and o.data[o.size - 1] == c' ':
        o.size -= 1
    for i in range(start, o.size):
        is_plain = is_plain and 32 <= o.data[i] < 127
    if not is_plain:
        line = text_of(o.data + start, o.size - start, b"surrogatepass")
        o.size = start
        put_text(o, writer.fit(line))
    elif o.size - start > width:
        o.size = start + max(width - 3, 1)
        put(o, b"...", 3)
    put_bytes(o, writer.colour[1])
    put(o, b"\n", 1)
    return 0


cdef bint write_body(KindState kind, Facts* facts, const uint8_t* p, Py_ssize_t size, Output* o) except -1:
    """Write the JSON text of a body if all of it is printable ASCII; False if it was not written."""
    cdef Py_ssize_t start = o.size
    cdef Cursor c
    if kind.table is None or kind.facts is not None and not kind.facts.find(p, size, facts):
        return False
    aim(&c, p, size)
    taken_paths.texts_begun += 1
    try:
        text(kind.table.nodes, &c, o)
    except (Declined, ValueError):
        o.size = start
        return False
    if c.at != c.end or not is_printable(o.data + start, o.size - start):
        o.size = start
        return False
    taken_paths.texts_written += 1
    return True


cdef bint write_names(summary, const Facts* found, Output* o) except -1:
    """Write the names of topic ids that a body contains without a name, as `topic_names_json.names_text` does; store
    the names of the others. False if the text is not printable ASCII."""
    cdef Py_ssize_t i, start = o.size, size
    cdef const Topic* topic
    cdef const uint8_t* name
    cdef set seen = None
    for i in range(found.count):
        topic = &found.topics[i]
        if topic.id == NULL:
            continue
        if topic.size:
            topic_text(summary, topic)
            continue
        id = topic_id(topic)
        text = name_of_id(summary, id)
        if text is None or seen is not None and id in seen:
            continue
        if seen is None:
            seen = set()
            put(o, b',"names":{"topics":{', 20)
        else:
            room(o, 1)[0] = c','
        seen.add(id)
        put_base64(o, topic.id, 16, BASE64URL, False)
        room(o, 1)[0] = c':'
        name = bytes_of_text(<PyObject*>text, &size)
        put_string(o, name, size)
    if seen is not None:
        put(o, b"}}", 2)
    return is_printable(o.data + start, o.size - start)


cdef int put_bytes(Output* o, bytes text) except -1:
    if text is None:
        raise TypeError("a text is missing")
    return put(o, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef int put_text(Output* o, str text) except -1:
    cdef bytes encoded
    if text.isascii():
        return put(o, PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))
    encoded = text.encode("utf-8", "surrogatepass")
    return put_bytes(o, encoded)


cdef object text_in(Output* o):
    return text_of(o.data, o.size, b"surrogatepass") if o.size else ""
