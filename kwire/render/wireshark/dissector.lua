-- Kafka's wire protocol for Wireshark and tshark, written by `kwire wireshark` from the schemas of kwire.
-- Tested with Wireshark 4.0. To use it: copy it to a folder of Personal Lua Plugins, or
-- tshark -X lua_script:kafka.lua -r dump.pcap -Y 'kafka.topic == "orders"'
--
-- Connections are found by their first request; ports in the preference "kafka_kwire.ports" are always Kafka's. A client
-- may have a port that Wireshark gives to another protocol: then set the preference tcp.try_heuristic_first.
-- A field that Wireshark's own dissector for Kafka has with another type ends with the type: kafka.batch_size_int.
-- Every read is checked against the end of the frame: a damaged frame ends with an item that says what is wrong.

--@TABLES@--

local MOST_SIZE = 104857600 -- socket.request.max.bytes of brokers: a larger frame is none
local MOST_ITEMS = 100000 -- of one frame that are shown
local SASL_HANDSHAKE, API_VERSIONS, UNSUPPORTED_VERSION = 17, 18, 35

local kafka = Proto("kafka_kwire", "Kafka (kwire)")
kafka.prefs.ports = Pref.string("Ports", "9092", "TCP ports of brokers, separated by commas")

-- Protocol fields -----------------------------------------------------------------------------------------------------

local registered = {}
local SUFFIX = {int32 = "int", int64 = "long", uint32 = "uint", string = "text", bytes = "bytes", bool = "bool", double = "float"}

-- Create a field. Wireshark's own Kafka dissector may have one of this name with another type: then the type is added.
local function make_field(type_name, name, label, values)
    local function make(abbreviation)
        if type_name == "bytes" or type_name == "string" or type_name == "double" or type_name == "bool" then
            return ProtoField[type_name](abbreviation, label)
        elseif type_name == "framenum" then
            return ProtoField.framenum(abbreviation, label, base.NONE, values)
        end
        return ProtoField[type_name](abbreviation, label, base.DEC, values)
    end
    local is_free, field = pcall(make, "kafka." .. name)
    if not is_free then
        field = make("kafka." .. name .. "_" .. (SUFFIX[type_name] or type_name))
    end
    registered[#registered + 1] = field
    return field
end

local enums = {} -- name -> number -> name
for name, words in ENUMS:gmatch("(%S+) ([^\n]+)\n") do
    enums[name] = {}
    for number, word in words:gmatch("(%-?%d+)=(%S+)") do
        enums[name][tonumber(number)] = word
    end
end

local fields = {} -- index -> {label, protocol field}
for name, type_name, enum in FIELDS:gmatch("(%S+) (%S+) (%S+)\n") do
    local label = name:match("[^.]+$")
    local field = type_name ~= "struct" and make_field(type_name, name, label, enums[enum]) or nil
    fields[#fields + 1] = {label, field}
end

local apis, api_names = {}, {} -- key -> {request = {version -> {header, struct, name}}, response = ...}
for key, name, kind, versions in MESSAGES:gmatch("(%-?%d+) (%S+) (%S+) ([^\n]*)\n") do
    key = tonumber(key)
    apis[key] = apis[key] or {request = {}, response = {}}
    for version, header, struct in versions:gmatch("(%d+):(%d):(%d+)") do
        apis[key][kind][tonumber(version)] = {tonumber(header), tonumber(struct), name}
    end
    api_names[key] = name
end

local F = {
    size = make_field("int32", "size", "size"),
    api_key = make_field("int32", "api_key", "api key", api_names),
    api = make_field("string", "api", "api"),
    api_version = make_field("int32", "api_version", "api version"),
    correlation_id = make_field("int32", "correlation_id", "correlation id"),
    client_id = make_field("string", "client_id", "client id"),
    type = make_field("string", "type", "type"),
    topic = make_field("string", "topic", "topic"),
    group = make_field("string", "group", "group"),
    error_name = make_field("string", "error_name", "error"),
    latency = make_field("double", "latency", "latency in seconds"),
    request_frame = make_field("framenum", "request_frame", "request in", frametype.REQUEST),
    response_frame = make_field("framenum", "response_frame", "response in", frametype.RESPONSE),
    token = make_field("bytes", "sasl_token", "SASL token"),
    unknown_tag = make_field("bytes", "unknown_tag", "unknown tagged field"),
    malformed = make_field("string", "malformed", "malformed"),
    batch_offset = make_field("int64", "batch.base_offset", "base offset"),
    batch_length = make_field("int32", "batch.length", "length"),
    batch_epoch = make_field("int32", "batch.leader_epoch", "leader epoch"),
    batch_magic = make_field("int32", "batch.magic", "magic"),
    batch_crc = make_field("uint32", "batch.checksum", "checksum"),
    batch_attributes = make_field("int32", "batch.attributes", "attributes"),
    batch_compression = make_field("string", "batch.compression", "compression"),
    batch_last = make_field("int32", "batch.last_offset", "last offset delta"),
    batch_begin = make_field("int64", "batch.base_timestamp", "base timestamp"),
    batch_end = make_field("int64", "batch.max_timestamp", "max timestamp"),
    batch_producer = make_field("int64", "batch.producer", "producer id"),
    batch_producer_epoch = make_field("int32", "batch.epoch", "producer epoch"),
    batch_sequence = make_field("int32", "batch.sequence", "base sequence"),
    batch_count = make_field("int32", "batch.records", "records"),
    record_offset = make_field("double", "record.offset", "offset"),
    record_timestamp = make_field("double", "record.timestamp", "timestamp"),
    record_key = make_field("bytes", "record.key", "key"),
    record_value = make_field("bytes", "record.value", "value"),
    header_key = make_field("string", "record.header.key", "header key"),
    header_value = make_field("bytes", "record.header.value", "header value"),
}
kafka.fields = registered

-- Layouts -------------------------------------------------------------------------------------------------------------

local struct_lines, structs = {}, {}
for line in STRUCTS:gmatch("([^\n]*)\n") do
    struct_lines[#struct_lines + 1] = line
end

-- Return a struct: {fields = {{label, protocol field, mark, code}, ...}, tags = {tag -> field}, flexible}.
local function struct_of(index)
    local struct = structs[index]
    if struct then
        return struct
    end
    struct = {fields = {}, tags = {}, flexible = false}
    for token in struct_lines[index]:gmatch("%S+") do
        if token == "~" then
            struct.flexible = true
        else
            local tag, number, mark, code = token:match("^(%d*:?)(%d+)([@#%%$]?)(%S+)$")
            if token:find(":", 1, true) == nil then
                tag, number, mark, code = "", token:match("^(%d+)([@#%%$]?)(%S+)$")
            end
            local known = fields[tonumber(number)]
            local field = {known[1], known[2], mark, code}
            if tag == "" then
                struct.fields[#struct.fields + 1] = field
            else
                struct.tags[tonumber((tag:gsub(":", "")))] = field
            end
        end
    end
    structs[index] = struct
    return struct
end

-- Reading -------------------------------------------------------------------------------------------------------------
-- A reader: tvb, pos, stop (the end of what may be read), items, failed, and what the body has: topics, errors.

local topic_names = {} -- topic id in Kafka's text form -> name, from all frames so far
local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

local function fail(reader, tree, text)
    if not reader.failed then
        reader.failed = text
        tree:add(F.malformed, text):add_expert_info(PI_MALFORMED, PI_ERROR, text)
    end
    return nil
end

local function take(reader, tree, size, what)
    if size < 0 or size > reader.stop - reader.pos then
        return fail(reader, tree, ("%s: needs %.0f bytes, %d left"):format(what, size, reader.stop - reader.pos))
    end
    local range = reader.tvb(reader.pos, size)
    reader.pos = reader.pos + size
    return range
end

local function varint(reader, tree, what, most)
    local value, scale = 0, 1
    for _ = 1, most or 5 do
        local byte = take(reader, tree, 1, what)
        if not byte then
            return nil
        end
        local number = byte:uint()
        value = value + (number % 128) * scale
        if number < 128 then
            return value
        end
        scale = scale * 128
    end
    return fail(reader, tree, what .. ": varint is too long")
end

local function signed_varint(reader, tree, what)
    local value = varint(reader, tree, what, 10)
    if not value then
        return nil
    end
    return value % 2 == 0 and value / 2 or -(value + 1) / 2
end

-- Return the length in front of text, bytes or an array; -1 for null.
local function length_of(reader, tree, kind, what)
    if kind == "compact" then
        local length = varint(reader, tree, what)
        return length and length - 1
    end
    local range = take(reader, tree, kind, what)
    return range and range:int()
end

local function uuid_text(range)
    local text, bits, count = "", 0, 0
    for index = 0, 15 do
        bits, count = bits * 256 + range(index, 1):uint(), count + 8
        while count >= 6 do
            local scale = 2 ^ (count - 6)
            local sextet = math.floor(bits / scale)
            text = text .. BASE64:sub(sextet + 1, sextet + 1)
            bits, count = bits - sextet * scale, count - 6
        end
    end
    return text .. BASE64:sub(bits * 16 + 1, bits * 16 + 1)
end

local LENGTHS = {s = 2, c = "compact", y = 4, z = "compact", r = 4, q = "compact"}
local INTEGERS = {["1"] = 1, ["2"] = 2, ["4"] = 4, ["8"] = 8, U = 2, W = 4}
local read_struct, show_batches

local function note_text(reader, tree, mark, text, range)
    if text == "" then
        return
    elseif mark == "@" then
        reader.topics[#reader.topics + 1] = text
        tree:add(F.topic, range, text):set_generated()
    elseif mark == "$" then
        tree:add(F.group, range, text):set_generated()
    end
end

local function read_text(reader, tree, field, kind)
    local size = length_of(reader, tree, kind, field[1])
    if not size or size < 0 then
        return size ~= nil
    end
    local range = take(reader, tree, size, field[1])
    if not range then
        return false
    end
    tree:add_packet_field(field[2], range, ENC_UTF_8 + ENC_BIG_ENDIAN)
    local text = size > 0 and range:string(ENC_UTF_8) or ""
    note_text(reader, tree, field[3], text, range)
    return true, text
end

local function read_bytes(reader, tree, field, code)
    local size = length_of(reader, tree, LENGTHS[code], field[1])
    if not size or size < 0 then
        return size ~= nil
    end
    local start = reader.pos
    local range = take(reader, tree, size, field[1])
    if not range then
        return false
    end
    local item = tree:add(field[2], range)
    if (code == "r" or code == "q") and size > 0 then
        show_batches(reader, item, start, start + size)
    end
    return true
end

local function read_uuid(reader, tree, field)
    local range = take(reader, tree, 16, field[1])
    if not range then
        return false
    end
    local text = uuid_text(range)
    tree:add(field[2], range, text)
    return true, text
end

local function read_integer(reader, tree, field, code)
    local range = take(reader, tree, INTEGERS[code], field[1])
    if not range then
        return false
    end
    if code == "8" then
        tree:add(field[2], range)
        return true, tostring(range:int64())
    end
    local is_unsigned = code == "U" or code == "W"
    local value = is_unsigned and range:uint() or range:int()
    tree:add(field[2], range, value)
    if field[3] == "%" and value ~= 0 then
        local name = enums.ErrorCode[value] or tostring(value)
        tree:add(F.error_name, range, name):set_generated()
        reader.errors[#reader.errors + 1] = name
    end
    return true, tostring(value)
end

-- Read a value that is no array; return whether it could be read, and its text.
local function read_value(reader, tree, field, code, label)
    reader.items = reader.items + 1
    if reader.items > MOST_ITEMS then
        return fail(reader, tree, "further fields are not shown") or false
    end
    local first = code:sub(1, 1)
    if INTEGERS[first] then
        return read_integer(reader, tree, field, first)
    elseif first == "s" or first == "c" then
        return read_text(reader, tree, field, LENGTHS[first])
    elseif LENGTHS[first] then
        return read_bytes(reader, tree, field, first)
    elseif first == "G" then
        return read_uuid(reader, tree, field)
    elseif first == "B" or first == "F" then
        local range = take(reader, tree, first == "B" and 1 or 8, field[1])
        if range then
            tree:add(field[2], range)
        end
        return range ~= nil
    end
    if first ~= "(" then -- a nullable struct: a marker, as int8, or as a varint in a tagged field
        local marker = take(reader, tree, 1, field[1])
        if not marker or marker:int() == (first == "!" and 0 or -1) then
            return marker ~= nil
        end
    end
    local start = reader.pos
    local subtree = tree:add(reader.tvb(start, 0), label)
    local is_read = read_struct(reader, subtree, struct_of(tonumber(code:match("%d+"))), label)
    subtree:set_len(reader.pos - start)
    return is_read
end

local function read_field(reader, tree, field)
    local code = field[4]
    local first = code:sub(1, 1)
    if first ~= "[" and first ~= "{" then
        return read_value(reader, tree, field, code, field[1])
    end
    local count = length_of(reader, tree, first == "{" and "compact" or 4, field[1])
    if not count then
        return false
    elseif count > reader.stop - reader.pos then
        return fail(reader, tree, ("%s: %.0f elements, %d bytes left"):format(field[1], count, reader.stop - reader.pos))
            or false
    end
    code = code:sub(2)
    for index = 0, count - 1 do
        if not read_value(reader, tree, field, code, ("%s[%d]"):format(field[1], index)) then
            return false
        end
    end
    return true
end

local function read_tags(reader, tree, struct)
    local count = varint(reader, tree, "tagged fields")
    for _ = 1, count or 0 do
        local tag = varint(reader, tree, "tag")
        local size = tag and varint(reader, tree, "size of a tagged field")
        local start = reader.pos
        local range = size and take(reader, tree, size, "tagged field")
        if not range then
            return false
        end
        reader.items = reader.items + 1
        if reader.items > MOST_ITEMS then
            return fail(reader, tree, "further fields are not shown") or false
        end
        local field = struct.tags[tag]
        if not field then
            tree:add(F.unknown_tag, range):append_text((" (tag %.0f)"):format(tag))
        else
            local stop = reader.stop
            reader.pos, reader.stop = start, start + size
            if not read_field(reader, tree, field) then
                return false
            elseif reader.pos ~= reader.stop then
                return fail(reader, tree, ("%s: %d bytes too many"):format(field[1], reader.stop - reader.pos)) or false
            end
            reader.stop = stop
        end
    end
    return count ~= nil
end

function read_struct(reader, tree, struct, label)
    local summary, topic_id, topic_name, id_range
    for _, field in ipairs(struct.fields) do
        local start = reader.pos
        local is_read, text = read_field(reader, tree, field)
        if not is_read then
            return false
        end
        if field[3] == "#" then
            topic_id, id_range = text, reader.tvb(start, reader.pos - start)
        elseif field[3] == "@" and field[4]:find("^[sc]") then
            topic_name = text
        end
        summary = summary or (text ~= "" and text)
    end
    if struct.flexible and not read_tags(reader, tree, struct) then
        return false
    end
    if topic_id and topic_name and topic_name ~= "" then
        topic_names[topic_id] = topic_name
    elseif topic_id and topic_names[topic_id] then
        summary = topic_names[topic_id]
        note_text(reader, tree, "@", summary, id_range)
    end
    if label and summary then
        tree:set_text(label .. ": " .. summary)
    end
    return true
end

-- Record batches ------------------------------------------------------------------------------------------------------

local CODECS = {[0] = "none", "gzip", "snappy", "lz4", "zstd"}

-- Add the fields of a fixed layout: offset in the batch, size, protocol field; return the subtree.
local function add_fixed(reader, tree, start, layout)
    for _, row in ipairs(layout) do
        tree:add(row[3], reader.tvb(start + row[1], row[2]))
    end
end

local function read_nullable(reader, tree, field, what)
    local size = signed_varint(reader, tree, what)
    if not size or size < 0 then
        return size ~= nil
    end
    local range = take(reader, tree, size, what)
    if range then
        tree:add(field, range)
    end
    return range ~= nil
end

local function read_record(reader, tree, base_offset, base_timestamp)
    local size = signed_varint(reader, tree, "size of a record")
    if not size then
        return false
    elseif size < 0 or size > reader.stop - reader.pos then
        return fail(reader, tree, "record is longer than its batch") or false
    end
    local start, stop = reader.pos, reader.stop
    local item = tree:add(reader.tvb(start, size), "record")
    reader.stop = start + size
    local attributes = take(reader, item, 1, "attributes")
    local time = attributes and signed_varint(reader, item, "timestamp")
    local offset = time and signed_varint(reader, item, "offset")
    if not offset then
        return false
    end
    item:add(F.record_offset, reader.tvb(start, 0), base_offset + offset)
    item:add(F.record_timestamp, reader.tvb(start, 0), base_timestamp + time)
    item:set_text(("record %.0f"):format(base_offset + offset))
    if not (read_nullable(reader, item, F.record_key, "key") and read_nullable(reader, item, F.record_value, "value")) then
        return false
    end
    local headers = signed_varint(reader, item, "headers")
    for _ = 1, headers or 0 do
        reader.items = reader.items + 1
        if reader.items > MOST_ITEMS then
            return fail(reader, item, "further fields are not shown") or false
        end
        if not (read_nullable(reader, item, F.header_key, "header") and read_nullable(reader, item, F.header_value, "header")) then
            return false
        end
    end
    reader.pos, reader.stop = reader.stop, stop
    return headers ~= nil
end

local BATCH = {
    {0, 8, F.batch_offset}, {8, 4, F.batch_length}, {12, 4, F.batch_epoch}, {16, 1, F.batch_magic}, {17, 4, F.batch_crc},
    {21, 2, F.batch_attributes}, {23, 4, F.batch_last}, {27, 8, F.batch_begin}, {35, 8, F.batch_end},
    {43, 8, F.batch_producer}, {51, 2, F.batch_producer_epoch}, {53, 4, F.batch_sequence}, {57, 4, F.batch_count},
}
local MESSAGE = {{0, 8, F.batch_offset}, {8, 4, F.batch_length}, {12, 4, F.batch_crc}, {16, 1, F.batch_magic}, {17, 1, F.batch_attributes}}

local function show_batch(reader, tree, start, stop)
    local tvb = reader.tvb
    local magic = tvb(start + 16, 1):int()
    local is_message = magic == 0 or magic == 1
    local head = is_message and 18 or 61
    local item = tree:add(tvb(start, stop - start), is_message and "message" or "record batch")
    if not is_message and magic ~= 2 then
        return fail(reader, item, ("record batch: magic %d"):format(magic)) or false
    elseif stop - start < head then
        item:append_text(" (cut short)")
        return true
    end
    add_fixed(reader, item, start, is_message and MESSAGE or BATCH)
    local attributes = tvb(start + (is_message and 17 or 22), 1):uint()
    item:add(F.batch_compression, tvb(start + (is_message and 17 or 21), is_message and 1 or 2), CODECS[attributes % 8] or "unknown")
        :set_generated()
    if is_message or attributes % 8 ~= 0 or stop < start + 12 + tvb(start + 8, 4):int() then
        return true
    end
    local count = tvb(start + 57, 4):int()
    local inner = {tvb = tvb, pos = start + head, stop = stop, items = reader.items}
    for _ = 1, math.min(count, stop - start) do
        inner.items = inner.items + 1
        if inner.items > MOST_ITEMS then
            fail(inner, item, "further records are not shown")
            break
        elseif not read_record(inner, item, tvb(start, 8):int64():tonumber(), tvb(start + 27, 8):int64():tonumber()) then
            break
        end
    end
    reader.items = inner.items
    return true
end

function show_batches(reader, tree, start, stop)
    while stop - start > 0 do
        reader.items = reader.items + 1
        if stop - start < 17 then
            tree:add(reader.tvb(start, stop - start), "record batch (cut short)")
            return
        end
        local size = reader.tvb(start + 8, 4):int()
        if size < 14 or reader.items > MOST_ITEMS then
            tree:add(F.malformed, ("record batch: length %d"):format(size))
            return
        end
        local last = math.min(stop, start + 12 + size)
        if not show_batch(reader, tree, start, last) then
            return
        end
        start = last
    end
end

-- Connections ---------------------------------------------------------------------------------------------------------

local tcp_stream = Field.new("tcp.stream")
local connections, frames = {}, {} -- stream -> its state; packet -> frame -> what the first pass found

local function connection_of()
    local streams = {tcp_stream()}
    local stream = #streams > 0 and streams[#streams].value or -1
    connections[stream] = connections[stream] or {requests = {}}
    return connections[stream]
end

-- Whether bytes at an offset can be the start of a request; `size` is that of the frame without its size field.
local function is_request(tvb, offset, size)
    local left = tvb:captured_len() - offset
    if size < 8 or size > MOST_SIZE or left < 14 then
        return false
    end
    local api = apis[tvb(offset + 4, 2):int()]
    local version = tvb(offset + 6, 2):int()
    if not api or not (api.request[version] or api.request[version - 1]) then
        return false
    elseif api.request[version] and api.request[version][1] == 0 then
        return true
    end
    local length = tvb(offset + 12, 2):int()
    if length < -1 or length > size - 10 then
        return false
    end
    for index = 0, math.min(length, left - 14) - 1 do
        local byte = tvb(offset + 14 + index, 1):uint()
        if byte < 32 or byte == 127 then
            return false
        end
    end
    return true
end

local function decide(connection, tvb, offset, size, pinfo)
    local correlation_id = size >= 4 and tvb:captured_len() - offset >= 8 and tvb(offset + 4, 4):int() or nil
    local is_from_client = tostring(pinfo.dst) .. ":" .. pinfo.dst_port == connection.broker
    if is_from_client then
        if is_request(tvb, offset, size) then
            local key, version = tvb(offset + 4, 2):int(), tvb(offset + 6, 2):int()
            local request = {key = key, version = version, frame = pinfo.number, time = pinfo.rel_ts}
            connection.requests[tvb(offset + 8, 4):int()] = request
            connection.has_tokens = key == SASL_HANDSHAKE and version == 0
            return {type = "request", request = request}
        end
        return {type = connection.has_tokens and "token" or "unknown"}
    end
    local request = correlation_id and connection.requests[correlation_id]
    if request then
        connection.requests[correlation_id] = nil
        request.response_frame = pinfo.number
        return {type = "response", request = request, latency = pinfo.rel_ts - request.time}
    end
    return {type = connection.has_tokens and "token" or "unknown"}
end

local function first_pass(connection, tvb, offset, size, pinfo)
    local known = frames[pinfo.number]
    if not known then
        known = {}
        frames[pinfo.number] = known
    end
    local key = ("%s:%d:%s"):format(tostring(pinfo.src_port), size, tvb(offset, math.min(12, tvb:captured_len() - offset)):bytes():tohex())
    if not known[key] then
        known[key] = decide(connection, tvb, offset, size, pinfo)
    end
    return known[key]
end

-- Frames --------------------------------------------------------------------------------------------------------------

local function read_header(reader, tree, frame, layout)
    local request = frame.request
    if frame.type == "request" then
        tree:add(F.api_key, reader.tvb(reader.pos, 2))
        tree:add(F.api_version, reader.tvb(reader.pos + 2, 2))
        reader.pos = reader.pos + 4
    else
        tree:add(F.api_key, request.key):set_generated()
        tree:add(F.api_version, request.version):set_generated()
    end
    local correlation_id = take(reader, tree, 4, "correlation id")
    if not correlation_id then
        return false
    end
    tree:add(F.correlation_id, correlation_id)
    if not layout then
        return false
    elseif frame.type == "request" and layout[1] > 0 then
        local is_read, client_id = read_text(reader, tree, {"client id", F.client_id, "", "s"}, 2)
        request.client_id = client_id
        if not is_read then
            return false
        end
    elseif frame.type == "response" and request.client_id then
        tree:add(F.client_id, request.client_id):set_generated()
    end
    local is_flexible = layout[1] == (frame.type == "request" and 2 or 1)
    return not is_flexible or read_tags(reader, tree, {tags = {}})
end

local function add_links(tree, frame)
    local request = frame.request
    if frame.type == "response" then
        tree:add(F.request_frame, request.frame):set_generated()
        tree:add(F.latency, frame.latency):set_generated()
    elseif request.response_frame then
        tree:add(F.response_frame, request.response_frame):set_generated()
    end
end

local function layout_of(reader, frame)
    local request = frame.request
    local api = apis[request.key]
    local version = request.version
    local at = reader.pos + 4 -- of the body of a response with header 0
    if frame.type == "response" and request.key == API_VERSIONS and reader.stop - at >= 2 then
        if reader.tvb(at, 2):int() == UNSUPPORTED_VERSION then
            version = 0 -- KIP-511
        end
    end
    return api[frame.type][version]
end

local function show_call(reader, tree, frame, pinfo)
    local request = frame.request
    local layout = layout_of(reader, frame)
    local name = layout and layout[3] or api_names[request.key]
    local title = ("%s v%d %s"):format(name, request.version, frame.type)
    tree:append_text(", " .. title)
    tree:add(F.api, name):set_generated()
    tree:add(F.type, frame.type):set_generated()
    add_links(tree, frame)
    local has_header = read_header(reader, tree, frame, layout)
    if not layout then
        fail(reader, tree, ("%s has no version %d here"):format(name, request.version))
    elseif has_header and read_struct(reader, tree, struct_of(layout[2])) and reader.pos < reader.stop then
        fail(reader, tree, ("%d bytes after the last field"):format(reader.stop - reader.pos))
    end
    local notes = {}
    for _, list in ipairs({reader.topics, reader.errors}) do
        local seen = {}
        for _, word in ipairs(list) do
            if not seen[word] and #notes < 6 then
                seen[word] = true
                notes[#notes + 1] = word
            end
        end
    end
    pinfo.cols.info:append(title .. (#notes > 0 and " " .. table.concat(notes, ", ") or "") .. "  ")
end

local function show_frame(tvb, offset, size, pinfo, tree)
    local stop = math.min(offset + 4 + size, tvb:captured_len())
    local range = tvb(offset, stop - offset)
    local connection = connection_of()
    local frame = first_pass(connection, tvb, offset, size, pinfo)
    local item = tree:add(kafka, range, "Kafka")
    item:add(F.size, tvb(offset, 4))
    local reader = {tvb = tvb, pos = offset + 4, stop = stop, items = 0, topics = {}, errors = {}}
    if frame.request then
        show_call(reader, item, frame, pinfo)
    elseif frame.type == "token" then
        item:append_text(", SASL token")
        item:add(F.token, tvb(offset + 4, stop - offset - 4))
        pinfo.cols.info:append("SASL token  ")
    else
        local text = "response without its request, or not a frame"
        item:append_text(", " .. text)
        item:add(F.malformed, text)
        pinfo.cols.info:append(text .. "  ")
    end
end

function kafka.dissector(tvb, pinfo, tree)
    local offset, length = 0, tvb:captured_len()
    local connection = connection_of()
    if not connection.broker then
        if length < 4 or not is_request(tvb, 0, tvb(0, 4):int()) then
            return 0
        end
        connection.broker = tostring(pinfo.dst) .. ":" .. pinfo.dst_port
    end
    pinfo.cols.protocol = "Kafka"
    pinfo.cols.info = ""
    while offset < length do
        local left = length - offset
        if left < 4 then
            pinfo.desegment_offset, pinfo.desegment_len = offset, DESEGMENT_ONE_MORE_SEGMENT
            return length
        end
        local size = tvb(offset, 4):int()
        if size < 4 or size > MOST_SIZE then
            tree:add(kafka, tvb(offset, left), "Kafka, not the start of a frame")
            pinfo.cols.info:append("not the start of a frame  ")
            return length
        end
        if left < size + 4 and tvb:reported_len() == length then
            pinfo.desegment_offset, pinfo.desegment_len = offset, size + 4 - left
            return length
        end
        show_frame(tvb, offset, size, pinfo, tree)
        offset = offset + 4 + size
    end
    return length
end

local function dissect_unknown(tvb, pinfo, tree)
    local connection = connection_of()
    local length = tvb:captured_len()
    if not connection.broker and (length < 14 or not is_request(tvb, 0, tvb(0, 4):int())) then
        return false
    end
    kafka.dissector(tvb, pinfo, tree)
    pinfo.conversation = kafka
    return true
end

local added = {}
local function add_ports()
    local ports = DissectorTable.get("tcp.port")
    for _, port in ipairs(added) do
        ports:remove(port, kafka)
    end
    added = {}
    for word in kafka.prefs.ports:gmatch("%d+") do
        local port = tonumber(word)
        if port > 0 and port < 65536 then
            ports:add(port, kafka)
            added[#added + 1] = port
        end
    end
end

function kafka.init()
    connections, frames, topic_names = {}, {}, {}
    add_ports()
end

kafka.prefs_changed = add_ports
kafka:register_heuristic("tcp", dissect_unknown)
