-- Recipients that a job's entry brings: one text a batch, a recipient a line.

local write_recipients, read_recipients, delete_recipients

do

-- Fields of a batch in rcpt:<id> after its first, which is the batch's number.
local FURTHER = { '.1', '.2', '.3' }

-- Bytes that a smaller field has to save: each field takes some 60 of its own.
local WORTHWHILE = 512

-- Bytes that Redis stores with a value.
local HEADER = 10

-- How many bytes of a text fill an allocation whole; nil when cutting the text there saves too little. Redis' allocator,
-- jemalloc, knows four sizes between two powers of 2, and rounds every value up to one: by up to a quarter.
local function whole_allocation(length)
  local _, exponent = math.frexp(length + HEADER)
  local step = 2 ^ (exponent - 3)
  local rest = (length + HEADER) % step
  return rest > 0 and step - rest > WORTHWHILE and length - rest or nil
end

-- `in_pieces`: the text is cut where that saves memory. Version 1 of the library reads the first field only.
function write_recipients(base, id, n, text, in_pieces)
  local key, field = base .. 'rcpt:' .. id, n
  for _, suffix in ipairs(in_pieces and FURTHER or {}) do
    local length = whole_allocation(#text)
    if not length then break end
    redis.call('HSET', key, field, string.sub(text, 1, length))
    field, text = n .. suffix, string.sub(text, length + 1)
  end
  redis.call('HSET', key, field, text)
end

-- The fields of a batch.
local function fields_of(n)
  local fields = { n }
  for _, suffix in ipairs(FURTHER) do fields[#fields + 1] = n .. suffix end
  return fields
end

-- A batch's recipients; '' when there are none.
function read_recipients(base, id, n)
  local pieces = {}
  for _, piece in ipairs(redis.call('HMGET', base .. 'rcpt:' .. id, unpack(fields_of(n)))) do
    if piece then pieces[#pieces + 1] = piece end
  end
  return table.concat(pieces)
end

-- Part of a step.
function delete_recipients(base, id, n)
  write('HDEL', base .. 'rcpt:' .. id, unpack(fields_of(n)))
end

end
