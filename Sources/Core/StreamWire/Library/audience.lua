-- Estimates of topics' audiences, which decide how long a broadcast keeps the slot. A count that Redis refuses is an
-- unknown size, never an error.

local count_subscribed, estimate_audience

do

-- How many topics of a project are counted, the most recently used ones. A HyperLogLog takes at most 12 kB.
local MOST_COUNTED = 10000

-- Marks a topic's count as used. Above the limit the least recently used topic is removed.
local function touch_counted(base, topic, ...)
  local call = { 'ZADD', base .. 'counted', ... }
  call[#call + 1] = int(wall_ms())
  call[#call + 1] = topic
  redis.pcall(unpack(call))
  local count = redis.pcall('ZCARD', base .. 'counted')
  if type(count) ~= 'number' or count <= MOST_COUNTED then return end
  local oldest = unpack(redis.pcall('ZPOPMIN', base .. 'counted'))
  if oldest then redis.pcall('UNLINK', base .. 'subscribed:' .. oldest) end
end

-- Counts tokens whose subscription to a topic succeeded, each once.
-- `value`: the topic's name, a line feed, and for each token a hash of 8 bytes.
function count_subscribed(base, value)
  local cut = string.find(value, '\n', 1, true)
  if not cut then return end
  local topic, hashes = string.sub(value, 1, cut - 1), {}
  for at = cut + 1, #value - 7, 8 do hashes[#hashes + 1] = string.sub(value, at, at + 7) end
  for i = 1, #hashes, 500 do
    local reply = redis.pcall('PFADD', base .. 'subscribed:' .. topic, unpack(hashes, i, math.min(i + 499, #hashes)))
    if type(reply) ~= 'number' then return end
  end
  if #hashes > 0 then touch_counted(base, topic) end
end

-- The size of an audience by its topics' counts; nil when one of its topics has no count.
-- `formula`: words separated by blanks, in postfix order. `#` and a number is a known size, `+` adds two sizes, `<`
-- takes the smaller of two, and any other word is a topic.
local function counted_audience(base, formula)
  local stack = {}
  for word in string.gmatch(formula, '%S+') do
    if word == '+' or word == '<' then
      local right, left = table.remove(stack), table.remove(stack)
      if not left then return nil end
      stack[#stack + 1] = word == '+' and left + right or math.min(left, right)
    elseif string.sub(word, 1, 1) == '#' then
      stack[#stack + 1] = tonumber(string.sub(word, 2)) or 0
    else
      local count = redis.pcall('PFCOUNT', base .. 'subscribed:' .. word)
      if type(count) ~= 'number' or count == 0 then return nil end
      touch_counted(base, word, 'XX')
      stack[#stack + 1] = count
    end
  end
  local size, rest = unpack(stack)
  return rest == nil and size or nil
end

-- Estimates the audience of a broadcast, and writes the estimate and its source to the job's hash.
-- Returns for how many ms the send keeps the slot, the source and the size; source nil if the job's worker named none.
function estimate_audience(base, id)
  local spec = base .. 'spec:' .. id
  local hold_ms, source, estimate, formula, fanout_rate = unpack(redis.call('HMGET', spec, 'hold_ms', 'audience_source',
    'audience_estimate', 'audience_formula', 'fanout_rate'))
  local hold, size = tonumber(hold_ms or '0'), tonumber(estimate or '0')
  if formula then
    local counted = counted_audience(base, formula)
    source, size = counted and 'counted' or 'none', counted or 0
    -- An estimate holds the slot for a day at most.
    hold = math.min(DAY, math.floor(size * 1000 / math.max(1, tonumber(fanout_rate or '1'))))
  end
  if source then
    write('HSET', base .. 'job:' .. id, 'audience_estimate', int(size), 'audience_source', source)
  end
  return hold, source, size
end

end
