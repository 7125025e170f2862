# The optional words of a line of text: topics, errors, latency and client.

cdef enum:
    FEW = 32                   # distinct names or codes that are compared one by one


cdef int write_words(
    const Captured* frame, writer, Taken taken, KindState kind, double time, Py_ssize_t stop, Output* o
) except -1:
    """Write the words of a frame, in the order of its kind; what is written after `stop` will not be shown."""
    cdef bint has_error = taken.facts.error_count > 0 and not frame.is_request
    cdef bytes order = kind.order[has_error]
    cdef Py_ssize_t start
    cdef uint8_t word
    for word in order:
        start = o.size
        put(o, b"  ", 2)
        if word == c'E':
            put_errors(writer, &taken.facts, o)
        elif word == c'L':
            put_link(writer, &taken.sent, time, o)
        elif word == c'C':
            put_bytes(o, kind.back)
        else:
            put_topics(writer, &taken.facts, stop, o)
        if o.size == start + 2:
            o.size = start
    return 0


cdef int put_topics(writer, const Facts* found, Py_ssize_t stop, Output* o) except -1:
    """Write the distinct names of topics, in order; those of topic ids are learned and looked up."""
    cdef Py_ssize_t[2 * FEW] written   # where the first names start and end in the output
    cdef Py_ssize_t size, i, count = 0, begin = o.size
    cdef const void* name
    cdef dict seen = None
    cdef object text
    for i in range(found.count):
        if o.size > stop:  # the names are learned all the same
            return learn_topics(writer.summary, found, i)
        text = None
        if found.topics[i].id == NULL:
            name, size = found.topics[i].name, found.topics[i].size
        else:
            text = topic_text(writer.summary, &found.topics[i])
            name = utf8_of(<PyObject*>text, &size)
        if count < FEW:
            if is_written(o, written, count, name, size):
                continue
        else:
            if seen is None:
                seen = names_written(o, written)
            known = len(seen)
            seen[owned(new_bytes(<uint8_t*>name, size))] = None
            if len(seen) == known:
                continue
        if count:
            put(o, b", ", 2)
        if count < FEW:
            written[2 * count], written[2 * count + 1] = o.size, o.size + size
        put(o, name, size)
        count += 1
    return 0


cdef bint is_written(Output* o, const Py_ssize_t* written, Py_ssize_t count, const void* name, Py_ssize_t size) noexcept:
    cdef Py_ssize_t i
    for i in range(count - 1, -1, -1):
        if written[2 * i + 1] - written[2 * i] == size and memcmp(o.data + written[2 * i], name, size) == 0:
            return True
    return False


cdef dict names_written(Output* o, const Py_ssize_t* written):
    return {copied(o.data, o.size, written[2 * i], written[2 * i + 1]): None for i in range(FEW)}


cdef int learn_topics(summary, const Facts* found, Py_ssize_t start) except -1:
    """Learn the names of topic ids, from a topic on."""
    cdef Py_ssize_t i
    for i in range(start, found.count):
        if found.topics[i].id != NULL and found.topics[i].size:
            topic_text(summary, &found.topics[i])
    return 0


cdef object topic_text(summary, const Topic* topic):
    """Return the name of a topic with an id, as `MessageSummary.name_topic` does."""
    cdef dict names = summary.names_by_id
    cdef object id = topic_id(topic)
    cdef PyObject* known = PyDict_GetItemWithError(names, id)
    cdef const char* text
    cdef Py_ssize_t size
    if known == NULL:
        if topic.size and len(names) < <Py_ssize_t>summary.most_names:
            name = names[id] = topic_name(topic)
            return name
        if not topic.size and summary.look_ahead is None:
            return unknown_topic(topic)
    elif not topic.size:
        return <object>known
    else:
        text = utf8_of(known, &size)
        if size == topic.size and memcmp(text, topic.name, size) == 0:
            return <object>known
    return summary.name_topic(id, topic_name(topic))


cdef object name_of_id(summary, id):
    """Return the name of a topic id; None if it is unknown: as `MessageSummary.topic_of`."""
    cdef PyObject* known = PyDict_GetItemWithError(summary.names_by_id, id)
    if known != NULL:
        return <object>known
    return None if summary.look_ahead is None else summary.topic_of(id)


cdef object unknown_topic(const Topic* topic):
    """Return the text for a topic id without a name."""
    cdef uint8_t[9] text
    cdef int i, byte
    text[0] = c'?'
    for i in range(4):
        byte = byte_at(topic.id, 16, i)
        text[1 + 2 * i], text[2 + 2 * i] = HEX[byte >> 4], HEX[byte & 15]
    return owned(new_text(text, 9))


cdef int put_errors(writer, const Facts* found, Output* o) except -1:
    """Write the distinct errors, each with its count if it is repeated."""
    cdef int64_t[FEW] codes
    cdef Py_ssize_t[FEW] counts
    cdef Py_ssize_t i, index, distinct = 0
    for i in range(found.error_count):
        index = 0
        while index < distinct and codes[index] != found.errors[i].code:
            index += 1
        if index == FEW:
            put_text(o, writer.errors([found.errors[i].code for i in range(found.error_count)]))
            return 0
        if index == distinct:
            codes[index], counts[index] = found.errors[i].code, 0
            distinct += 1
        counts[index] += 1
    for index in range(distinct):
        put(o, b", " if index else b"!", 2 if index else 1)
        put_text(o, error_name(writer, codes[index]))
        if counts[index] > 1:
            put(o, b" x", 2)
            put_decimal(o, counts[index])
    return 0


cdef object error_name(writer, int64_t code):
    cdef dict names = writer.error_names
    cdef PyObject* name = PyDict_GetItemWithError(names, code)
    return <object>name if name != NULL else writer.name_error(code)


cdef int put_link(writer, const SentRequest* sent, double time, Output* o) except -1:
    """Write the latency of a response and the frame number of its request, as `response_link.link_text` does."""
    cdef Py_ssize_t start = o.size
    cdef double latency
    if sent.now != NONE:
        latency = latency_of(sent, time)
        if not put_duration(latency, o):
            put_text(o, writer.duration(latency))
    if sent.frame >= 0:
        put(o, b" @" if o.size > start else b"@", 2 if o.size > start else 1)
        put_decimal(o, sent.frame)
    return 0


cdef bint put_duration(double seconds, Output* o) except -1:
    """Write a duration in whole microseconds as `value_text.duration_text` does; False if it may round to even."""
    cdef double rounded = rint(seconds * 1e6)
    cdef int64_t micros, unit, tenths
    cdef bint is_short
    if not 0 <= rounded < 1e13:
        return False
    micros = <int64_t>rounded
    if micros < 1000:
        put_decimal(o, micros)
        put(o, b"us", 2)
        return True
    is_short = micros < 999500
    unit = 1000 if is_short else 1000000
    if micros == unit // 100 * 995:
        return False
    if micros < unit // 100 * 995:
        unit //= 10
        if 2 * (micros % unit) == unit:
            return False
        tenths = (micros + unit // 2) // unit
        put_decimal(o, tenths // 10)
        put(o, b".", 1)
        put_decimal(o, tenths % 10)
    else:
        if 2 * (micros % unit) == unit:
            return False
        put_decimal(o, (micros + unit // 2) // unit)
    put(o, b"ms" if is_short else b"s", 2 if is_short else 1)
    return True
