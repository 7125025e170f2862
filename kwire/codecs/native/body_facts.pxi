# Checks bodies and finds their topics and errors without creating objects;
# `kwire.protocol.message_summary.make_body_facts` selects the fields.

cdef enum Interest:
    ERROR_CODE = 1, TOPIC_NAME, TOPIC_ID, FIRST_VALUE  # marks from FIRST_VALUE on collect values

INTERESTS = {"error code": ERROR_CODE, "topic name": TOPIC_NAME, "topic id": TOPIC_ID}

cdef struct Topic:
    const uint8_t* id          # or NULL
    const uint8_t* name
    Py_ssize_t size            # of the name

cdef struct FoundError:
    Py_ssize_t field           # the row of the field
    int64_t code               # not 0

cdef struct Facts:
    const uint8_t* marks       # of the fields of the table
    Field* fields
    PyObject* values           # lists of the values of fields, or NULL
    Py_ssize_t texts           # from this index on, values are JSON texts
    Topic* topics              # allocated; used again for the next body
    Py_ssize_t count, room
    FoundError* errors         # the same
    Py_ssize_t error_count, error_room


cdef inline void begin_facts(Facts* facts) noexcept:
    memset(facts, 0, sizeof(Facts))


cdef inline void release_facts(Facts* facts) noexcept:
    PyMem_Free(facts.topics)
    PyMem_Free(facts.errors)


cdef class BodyFacts:
    """The fields of interest in the bodies of a message at a version.

    Args:
        table: the nodes of the message.
        marks: construct field -> one of `INTERESTS`, or the index of a list for `values_of`.
        guarded: names and ids of topics; a body that contains one of them must be decoded.
    """

    cdef NodeTable table
    cdef bytes marks
    cdef frozenset guarded
    cdef readonly bint has_ids     # whether bodies have topic ids

    def __cinit__(self, NodeTable table not None, dict marks not None, frozenset guarded=frozenset()):
        self.table, self.guarded = table, guarded
        self.marks = bytes(mark_of(marks[row.source]) if row.source in marks else 0 for row in table.rows[1])
        for i in range(table.node_count):
            self.ask_for_types(&table.nodes[i])

    cdef int ask_for_types(self, Node* n) except -1:
        """Refuse fields of interest whose type is not supported here."""
        cdef const uint8_t* marks = address_of(self.marks)
        cdef Field* f = n.fields
        cdef Node* node
        cdef int i, mark, names = 0, ids = 0, count = n.count + max(n.tags, 0) if n.kind == STRUCT else 0
        for i in range(count):
            mark, node = marks[f - self.table.fields], f.node
            is_array = node.kind == ARRAY
            node = node.child if is_array else node
            if mark == ERROR_CODE and node.kind > UINT32 or mark == TOPIC_NAME and node.kind != STRING:
                raise ValueError("a field of interest has another type")
            if mark == TOPIC_ID and (f.node.kind != UUID or i >= n.count) or mark == TOPIC_NAME and is_array and node.nullable:
                raise ValueError("a field of interest has another type")
            names += 0 if mark != TOPIC_NAME else 2 if is_array else 1
            ids += mark == TOPIC_ID
            f += 1
        self.has_ids = self.has_ids or ids > 0
        if ids and ids + names > 2:
            raise ValueError("the table pairs a topic id with several names")
        return 0

    cdef bint find(self, const uint8_t* p, Py_ssize_t size, Facts* facts) except -1:
        """Find the fields of interest of a body; return False if it must be decoded."""
        cdef Cursor c
        aim(&c, p, size)
        facts.values = NULL
        return self.walk(&c, facts)

    cdef bint walk(self, Cursor* c, Facts* facts) except -1:
        facts.marks, facts.fields = address_of(self.marks), self.table.fields
        facts.count = facts.error_count = 0
        try:
            check(self.table.nodes, c, facts)
        except (Declined, ValueError):
            return False
        return c.at == c.end and not (self.guarded and self.is_guarded(facts))

    def of(self, bytes body not None):
        """Return the error codes of a body other than 0, and the ids and names of its topics; None if it must be
        decoded."""
        cdef Facts facts
        begin_facts(&facts)
        try:
            if not self.find(address_of(body), PyBytes_GET_SIZE(body), &facts):
                return None
            topics = [(topic_id(&facts.topics[i]), topic_name(&facts.topics[i])) for i in range(facts.count)]
            return [facts.errors[i].code for i in range(facts.error_count)], topics
        finally:
            release_facts(&facts)

    def names(self, bytes body not None, summary):
        """Return the distinct names of the topics of a body, as `MessageSummary.names` does; None if it must be
        decoded."""
        cdef Facts facts
        cdef Py_ssize_t i
        cdef dict names = {}
        begin_facts(&facts)
        try:
            if not self.find(address_of(body), PyBytes_GET_SIZE(body), &facts):
                return None
            for i in range(facts.count):
                if facts.topics[i].id == NULL:
                    name = topic_name(&facts.topics[i]) or ""
                else:
                    name = topic_text(summary, &facts.topics[i])
                names[name] = None
            return tuple(names)
        finally:
            release_facts(&facts)

    def values_of(self, bytes body not None, int count, Py_ssize_t texts):
        """Return the values of the fields on the wire, a list for each of `count` indexes; arrays are tuples. From the
        index `texts` on, values and elements of arrays are JSON texts in UTF-8. None if the body must be decoded."""
        cdef Facts facts
        cdef Cursor c
        cdef list values = [[] for _ in range(count)]
        aim(&c, address_of(body), PyBytes_GET_SIZE(body))
        begin_facts(&facts)
        facts.values, facts.texts = <PyObject*>values, texts
        try:
            return values if self.walk(&c, &facts) else None
        finally:
            release_facts(&facts)

    def path(self, Py_ssize_t field):
        """Return the path of a field, given its row: with dots, without indices."""
        return self.path_in(self.table.nodes, &self.table.fields[field])

    cdef str path_in(self, Node* n, const Field* wanted):
        """Return the path from a node to a field; None if the field is not inside."""
        cdef Field* f
        cdef int i
        while n.kind == ARRAY or n.kind == NULLABLE_STRUCT:
            n = n.child
        for i in range(n.count + max(n.tags, 0) if n.kind == STRUCT else 0):
            f = &n.fields[i]
            if f == wanted:
                return <object>f.name
            rest = self.path_in(f.node, wanted)
            if rest is not None:
                return f"{<object>f.name}.{rest}"
        return None

    cdef bint is_guarded(self, const Facts* facts) except -1:
        cdef Py_ssize_t i
        for i in range(facts.count):
            if topic_name(&facts.topics[i]) in self.guarded or topic_id(&facts.topics[i]) in self.guarded:
                return True
        return False


def mark_of(interest):
    """Return the mark of a field of interest."""
    return INTERESTS[interest] if isinstance(interest, str) else FIRST_VALUE + interest


cdef object topic_name(const Topic* topic):
    return text_of(topic.name, topic.size, NULL) if topic.size else None


cdef object topic_id(const Topic* topic):
    return copied(topic.id, 16, 0, 16) if topic.id != NULL else None


cdef int check(Node* n, Cursor* c, Facts* facts) except -1:
    """Read a value as `text` does, without writing it."""
    cdef Py_ssize_t size, i
    cdef Node* element
    if n.kind <= UINT32 or n.kind == UUID or n.kind == FLOAT64:
        take(c, n.width)
    elif n.kind == STRUCT:
        check_struct(n, c, facts)
    elif n.kind == STRING:
        size = length(n, c)
        if size > 0:
            checked_text(c, size)
    elif n.kind == ARRAY:
        size = length(n, c)
        element = n.child
        if element.kind <= UINT32 or element.kind == UUID:
            take(c, max(size, 0) * element.width)
        else:
            for i in range(size):
                check(element, c, facts)
    elif n.kind == BOOLEAN:
        boolean(take(c, 1))
    elif n.kind == BYTES:
        size = length(n, c)
        if size > 0:
            take(c, size)
    elif present(n, c):
        check_struct(n.child, c, facts)
    return 0


cdef inline const uint8_t* checked_text(Cursor* c, Py_ssize_t size) except NULL:
    """Return a pointer to UTF-8 text."""
    cdef const uint8_t* p = take(c, size)
    check_utf8(p, size, text_has(p, size))
    return p


cdef int check_struct(Node* n, Cursor* c, Facts* facts) except -1:
    cdef Field* f = n.fields
    cdef Field* end = f + n.count
    cdef Topic topic
    topic.id, topic.name, topic.size = NULL, NULL, 0
    while f < end:
        if facts.marks[f - facts.fields]:
            note(f, c, facts, &topic)
        else:
            check(f.node, c, facts)
        f += 1
    if topic.id != NULL:
        add_topic(facts, &topic)
    if n.tags >= 0:
        if not accept(c, 0):
            check_tags(n, c, facts)
    return 0


cdef int check_tags(Node* n, Cursor* c, Facts* facts) except -1:
    cdef int64_t count = unsigned_varint(c), i, tag, last = -1
    cdef Py_ssize_t size
    cdef int known
    cdef Cursor section
    cdef Field* f
    cdef Topic topic
    topic.id, topic.name, topic.size = NULL, NULL, 0
    if count * 2 > c.end - c.at:
        raise Declined
    for i in range(count):
        tag = unsigned_varint(c)
        size = unsigned_varint(c)
        known = known_tag(n, tag)
        if tag <= last or tag > HIGHEST_TAG or known < 0 and tag in <object>n.foreign:
            raise Declined
        last = tag
        if known < 0:
            take(c, size)
            continue
        f = &n.fields[n.count + known]
        section = c[0]
        tag_value(f, size, c)
        if facts.marks[f - facts.fields]:
            note(f, &section, facts, &topic)
        else:
            check(f.node, &section, facts)
    return 0


cdef int note(Field* f, Cursor* c, Facts* facts, Topic* topic) except -1:
    """Read a field of interest; `topic` is the topic of its struct."""
    cdef int mark = facts.marks[f - facts.fields]
    if mark >= FIRST_VALUE:
        if mark - FIRST_VALUE < facts.texts:
            collect(f.node, c[0], <list>(<list>facts.values)[mark - FIRST_VALUE])
        else:
            collect_texts(f.node, c[0], <list>(<list>facts.values)[mark - FIRST_VALUE])
        return check(f.node, c, facts)
    cdef Node* node = f.node
    cdef bint is_array = node.kind == ARRAY
    cdef Py_ssize_t count = length(node, c) if is_array else 1, i, size
    cdef int64_t code
    cdef const uint8_t* p
    node = node.child if is_array else node
    for i in range(count):
        if mark == ERROR_CODE:
            code = integer(node.kind, take(c, node.width))
            if code:
                add_error(facts, f - facts.fields, code)
        elif mark == TOPIC_ID:
            p = take(c, 16)
            topic.id = p if integer(INT64, p) or integer(INT64, p + 8) else NULL
        else:
            size = length(node, c)
            topic.size = max(size, 0)
            topic.name = checked_text(c, size) if size > 0 else c.at
            if size > 0 or is_array:
                add_topic(facts, topic)
    return 0


cdef int collect(Node* n, Cursor c, list values) except -1:
    """Add a value to a list; the cursor is a copy."""
    cdef PyObject* value = read(n, &c)
    try:
        values.append(<object>value)
    finally:
        Py_DECREF(value)
    return 0


cdef int collect_texts(Node* n, Cursor c, list values) except -1:
    """Add the JSON text of a value, or of each element of an array, to a list; None for null. The cursor is a copy."""
    cdef Output o
    cdef Small small
    cdef Py_ssize_t count = length(n, &c) if n.kind == ARRAY else 1, i
    cdef Node* element = n.child if n.kind == ARRAY else n
    if count < 0:
        values.append(None)
    for i in range(count):
        begin(&o, &small)
        try:
            text(element, &c, &o)
            values.append(copied(o.data, o.size, 0, o.size))
        finally:
            release(&o)
    return 0


cdef int add_topic(Facts* facts, const Topic* topic) except -1:
    """Add a topic. A topic with an id is added at the end of its struct, because its name may follow the id."""
    if facts.count == facts.room:
        facts.topics = <Topic*>widened(facts.topics, &facts.room, sizeof(Topic))
    facts.topics[facts.count] = topic[0]
    facts.count += 1
    return 0


cdef int add_error(Facts* facts, Py_ssize_t field, int64_t code) except -1:
    if facts.error_count == facts.error_room:
        facts.errors = <FoundError*>widened(facts.errors, &facts.error_room, sizeof(FoundError))
    facts.errors[facts.error_count].field, facts.errors[facts.error_count].code = field, code
    facts.error_count += 1
    return 0


cdef void* widened(void* items, Py_ssize_t* room, size_t size) except NULL:
    """Return memory for more items, with those of before."""
    cdef Py_ssize_t wanted = room[0] * 2 + 16
    cdef void* wider = PyMem_Realloc(items, wanted * size)
    if wider == NULL:
        raise MemoryError
    room[0] = wanted
    return wider
