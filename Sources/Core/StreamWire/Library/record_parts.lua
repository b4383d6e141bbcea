-- The parts of `record`: results, feedback and retries of one flush. `flush`: see record.lua.

-- One local for all: Lua allows 200.
local parts = {}
do

-- Each reads the fields of a hash that a flush needs. A table of a fixed size is made faster than one that grows.
local function read_fields_of_spec(base, id)
  local left, answers, total, class, paused, next_index, ending, unsent, member, keep, passed, refusals, judged, guarded,
    parked, untried, born, traceparent = unpack(redis.call('HMGET', base .. 'spec:' .. id, 'left', 'answers', 'total',
      'class', 'paused', 'next', 'ending', 'unsent', 'member', 'keep', 'passed', 'refusals', 'judged', 'guarded', 'parked',
      'untried', 'born', 'traceparent'))
  return left and { left = left, answers = answers, total = total, class = class, paused = paused, next = next_index,
    ending = ending, unsent = unsent, member = member, keep = keep, passed = passed, refusals = refusals, judged = judged,
    guarded = guarded, parked = parked, untried = untried, born = born, traceparent = traceparent }
end

function parts.read_spec(base, id)
  local spec = read_fields_of_spec(base, id)
  -- An error may have stopped an expansion when the spec was written.
  if (not spec or spec.total == '1') and compact.expand(base, id) then spec = read_fields_of_spec(base, id) end
  return spec
end

function parts.read_batch(batch)
  local epoch, owner, call, crashes, watermark, from, sent = unpack(redis.call('HMGET', batch, 'epoch', 'owner', 'call',
    'crashes', 'upto', 'from', 'sent'))
  return { epoch = epoch, owner = owner, call = call, crashes = crashes, watermark = watermark, from = from,
    sent = sent }
end

function parts.read_job(base, id)
  local sent, failed, unknown, cancelled, expired, first_pass_ms, reason, state, pace = unpack(redis.call('HMGET',
    base .. 'job:' .. id, 'sent', 'failed', 'unknown', 'cancelled', 'expired', 'first_pass_ms', 'reason', 'state',
    'pace'))
  return { sent = sent, failed = failed, unknown = unknown, cancelled = cancelled, expired = expired,
    first_pass_ms = first_pass_ms, reason = reason, state = state, pace = pace }
end

local BITS = { [0] = 128, 64, 32, 16, 8, 4, 2, 1 }

-- Reads from done:<id> which of these recipients have their result. Returns how many have none, a map of the positions
-- that have one (nil when none has), and the writes that set the missing bits.
local function read_marks(done, indexes)
  -- `is_run`: each index is the next one after the one before.
  local low, high, is_run = math.huge, -1, true
  for i, index in ipairs(indexes) do
    if i > 1 and index ~= high + 1 then is_run = false end
    if index < low then low = index end
    if index > high then high = index end
  end
  -- A batch's bits are neighbours, and set as one range; few bits, or bits far apart, one by one.
  local in_one = #indexes >= 4 and high - low <= 4 * BATCH
  local first, last, bytes, writes, seen = math.floor(low / 8), math.floor(high / 8), nil, {}, {}
  if in_one then
    local stored = redis.call('GETRANGE', done, int(first), int(last))
    -- A whole new range: its bytes need no table.
    if is_run and low % 8 == 0 and not string.find(stored, '[^%z]') then
      local rest = #indexes % 8
      local ones = string.rep('\255', math.floor(#indexes / 8))
      if rest > 0 then ones = ones .. string.char(256 - 2 ^ (8 - rest)) end
      return #indexes, nil, { { 'SETRANGE', done, int(first), ones } }
    end
    bytes = { string.byte(stored, 1, -1) }
    for at = #bytes + 1, last - first + 1 do bytes[at] = 0 end
  end
  local fresh, old = 0, nil
  for i, index in ipairs(indexes) do
    local is_new
    if in_one then
      local at, bit_value = math.floor(index / 8) - first + 1, BITS[index % 8]
      is_new = bytes[at] % (2 * bit_value) < bit_value
      if is_new then bytes[at] = bytes[at] + bit_value end
    else
      is_new = not seen[index] and redis.call('GETBIT', done, int(index)) == 0
      seen[index] = true
      if is_new then writes[#writes + 1] = { 'SETBIT', done, int(index), '1' } end
    end
    if is_new then
      fresh = fresh + 1
    else
      old = old or {}
      old[i] = true
    end
  end
  if in_one and fresh > 0 then
    writes[#writes + 1] = { 'SETRANGE', done, int(first), string.char(unpack(bytes)) }
  end
  return fresh, old, writes
end

-- The objects of the new results, as the text of a JSON array. Quotes inside a string are escaped, so `,{"i":` is
-- always the beginning of an object.
local function new_objects(text, letters, old)
  local list, from = {}, 2
  for i = 1, #letters do
    if string.find(letters, '^%u', i) then
      local behind = string.find(text, ',{"i":', from, true) or #text
      if not old[i] then list[#list + 1] = string.sub(text, from, behind - 1) end
      from = behind + 1
    end
  end
  return #list > 0 and '[' .. table.concat(list, ',') .. ']' or ''
end

-- Which results are new: returns fresh, counts (status letter -> new results), old and marks; see read_marks.
function parts.look_up_results(base, id, total, indexes, letters)
  local counts, fresh, old, marks = {}, 0, nil, {}
  -- A one-recipient job is deleted when its result is written; if its spec exists, it has no result.
  if #indexes > 0 and total == 1 then fresh = 1 end
  if #indexes > 0 and total > 1 then fresh, old, marks = read_marks(base .. 'done:' .. id, indexes) end
  local first = string.match(letters, '^%a')
  -- Of a job that is ending, all results are alike.
  if first and fresh > 0 and not old and not string.find(letters, '[^' .. first .. ']') then
    return fresh, { [string.lower(first)] = fresh }, old, marks
  end
  for i = 1, #indexes do
    if not (old and old[i]) then
      local letter = string.lower(string.sub(letters, i, i))
      counts[letter] = (counts[letter] or 0) + 1
    end
  end
  return fresh, counts, old, marks
end

-- The new failed results by error: field of the job's hash -> count. `text`: the errors of this flush, such as
-- "UNREGISTERED.remove", and a letter for each failed result in turn, `a` for the first of them; nil when none failed.
local function count_errors(text, letters, old)
  local names, counts, failed = {}, {}, 0
  if not text then return counts end
  for name in string.gmatch(text, '%S+') do names[#names + 1] = name end
  local places = table.remove(names) or ''
  for i = 1, #letters do
    if string.find(letters, '^[fF]', i) then
      failed = failed + 1
      local name = names[(string.byte(places, failed) or 0) - 96]
      if name and not (old and old[i]) then
        counts['error.' .. name] = (counts['error.' .. name] or 0) + 1
      end
    end
  end
  return counts
end

-- How many new results are possible duplicates. `flags`: a digit for each result up to the last flagged one, 1 for a
-- flagged one; nil when none is.
local function count_flagged(flags, old)
  local count = 0
  for i in string.gmatch(flags or '', '()1') do
    if not (old and old[i]) then count = count + 1 end
  end
  return count
end

-- The counts of both. `more`: the optional names of the call.
function parts.count_new(more, letters, old)
  return count_errors(more.errors, letters, old), count_flagged(more.flagged, old)
end

-- The recipients with a new result, as a set of the texts of their indexes.
local function new_indexes(flush)
  local new = {}
  for i, index in ipairs(flush.indexes) do
    if not (flush.old and flush.old[i]) then new[int(index)] = true end
  end
  return new
end

-- Appends the new results to `results`, with the trace context of the job's producer if it gave one. Before the step: an
-- entry of an outgoing stream cannot be undone. Returns the entry's id; nil when there is no entry.
function parts.write_results(base, id, letters, objects, flush)
  if flush.old then objects = new_objects(objects, letters, flush.old) end
  if objects == '' then return nil end
  check_rights(base, 'record')
  local parent, stream = flush.spec.traceparent, base .. 'results'
  if not parent then return redis.call('XADD', stream, '*', 'job', id, 'results', objects) end
  local state = redis.call('HGET', base .. 'spec:' .. id, 'tracestate')
  if not state then return redis.call('XADD', stream, '*', 'job', id, 'results', objects, 'traceparent', parent) end
  return redis.call('XADD', stream, '*', 'job', id, 'results', objects, 'traceparent', parent, 'tracestate', state)
end

-- A block of the index has so many entries of `results`, or ends with an entry of so many bytes of fingerprints.
local BLOCK_ENTRIES, LARGE_ENTRY = 128, 96

-- Adds an entry of `results` to the index by token. `prints`: the fingerprint of each recipient, three bytes each;
-- fingerprints of results that were known before may be among them.
--   fingerprints_open  list: the fingerprints of each of the newest entries
--   fingerprints       stream of blocks: `entries`, their number, and `prints`; the block's id is that of its last entry
-- The index only saves a search from reading all results: an error here is ignored, and a search counts the entries.
function parts.index_results(base, entry, prints)
  local open, blocks = base .. 'fingerprints_open', base .. 'fingerprints'
  local count = redis.pcall('RPUSH', open, unpack(prints))
  if type(count) ~= 'number' or (count < BLOCK_ENTRIES and #prints[#prints] < LARGE_ENTRY) then return end
  local lists = redis.pcall('LRANGE', open, 0, -1)
  if lists.err then return end
  redis.pcall('DEL', open)
  local added = redis.pcall('XADD', blocks, entry, 'entries', int(count), 'prints', table.concat(lists))
  -- `results` was deleted and the server's clock set back: the blocks are of entries that no longer exist.
  if type(added) == 'table' and added.err and string.find(added.err, 'smaller', 1, true) then
    redis.pcall('DEL', blocks)
  end
end

-- Appends the feedback about recipients with a new result. `at`: its place in `args`. Returns the place after it.
function parts.write_feedback(base, id, args, at, count, flush)
  if count == 0 then return at end
  check_rights(base, 'record')
  local new = new_indexes(flush)
  for _ = 1, count do
    local index, kind, recipient, action, replacement, problem = unpack(args, at, at + 5)
    if new[index] then
      redis.call('XADD', base .. 'feedback', '*', kind, recipient, 'action', action, 'replacement', replacement,
        'error', problem, 'job', id)
    end
    at = at + 6
  end
  return at
end

-- Removes recipients from wait:<id>. Part of a step. Returns how many were in it, and how many of them were never sent.
function parts.stop_waiting(base, id, indexes)
  local waiting, names, present, unsent = base .. 'wait:' .. id, {}, {}, 0
  for i, index in ipairs(indexes) do names[i] = int(index) end
  for i, value in ipairs(redis.call('HMGET', waiting, unpack(names))) do
    if value then
      present[#present + 1] = names[i]
      if is_unsent(value) then unsent = unsent + 1 end
    end
  end
  if #present > 0 then
    write('HDEL', waiting, unpack(present))
    unschedule(base, id, present)
  end
  return #present, unsent
end

-- A pace is measured over this time at least, and over so many recipients; over MOST_MS at most.
local LEAST_MS, LEAST_COUNT, MOST_MS = 3000, 100, 60000
-- The job stood still when nothing came for this time, and for that of so many recipients.
local STILL_MS, STILL_COUNT = 3000, 20

-- Writes into the job's hash from when on its pace counts: `pace` = "<from> <tried> <next> <tried> <last>", Redis TIME and
-- how many recipients were tried until then. `next` becomes `from` once it is old enough. A job that stood still, for a
-- pause, its window or anything else, begins again. Part of a step. `tried`: recipients that have their result, or were sent
-- to and wait.
function parts.mark_pace(flush, tried)
  if flush.ending or flush.job.first_pass_ms or (flush.fresh == 0 and not next(flush.retried)) then return end
  local common = flush.common
  common.wall = common.wall or wall_ms()
  local from, first, later, second, last = string.match(flush.job.pace or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  from, first, later, second, last = tonumber(from), tonumber(first), tonumber(later), tonumber(second), tonumber(last)
  local now = common.wall
  local still = last and now - last or 0
  local stood = last and still > STILL_MS and still * (tried - first) > STILL_COUNT * (last - from)
  if not last or stood or still < 0 or tried < second then
    from, first, later, second = now, tried, now, tried
  elseif now - later >= MOST_MS or (now - later >= LEAST_MS and tried - second >= LEAST_COUNT) then
    from, first, later, second = later, second, now, tried
  end
  add_pair(flush.job_fields, 'pace', string.format('%d %d %d %d %d', from, first, later, second, now))
end

-- Sets how long a broadcast keeps the slot after its answer: for the estimate if FCM may run it, else 0.
function parts.hold_slot_after_broadcast(base, id, may_run, now)
  hold_slot(base, id, may_run and estimate_audience(base, id) or 0, now)
end

-- The new retries of a flush. A retry is a decision: only the holder's counts, and the mark w<recipient> makes it
-- set-once: a repeated call must not schedule a recipient that another worker has by now.
local function read_retries(base, id, flush, args, at, count)
  local names, marks, retries = {}, {}, {}
  for i = 1, count do
    local index, due, waits_for_probe, value = unpack(args, at, at + 3)
    names[i], marks[i] = index, 'w' .. index
    retries[i] = { index = index, due = due, waits_for_probe = waits_for_probe == '1', value = value, mark = marks[i] }
    at = at + 4
  end
  local handed_on, known = redis.call('HMGET', flush.batch, unpack(marks)),
    redis.call('HMGET', base .. 'wait:' .. id, unpack(names))
  local new = {}
  for i, retry in ipairs(retries) do
    if not handed_on[i] and not flush.retried[retry.index]
      and redis.call('GETBIT', base .. 'done:' .. id, retry.index) == 0 then
      flush.retried[retry.index] = true
      retry.known = known[i]
      new[#new + 1] = retry
    end
  end
  return new
end

-- Schedules the retries of a flush. Part of a step. `at`: their place in `args`. Returns the number of recipients that
-- were sent before, the growth of wait:<id>, and the growth of the never sent in it.
function parts.write_retries(base, id, flush, args, at, count)
  if count == 0 or not flush.owned then return 0, 0, 0 end
  local wait, crashed, due_in, retried, grown, unsent = {}, {}, {}, 0, 0, 0
  for _, retry in ipairs(read_retries(base, id, flush, args, at, count)) do
    local due, value = retry.due, retry.value
    if retry.waits_for_probe then due = int(math.max(tonumber(due), flush.now() + 60000)) end
    if is_unsent(retry.known) then unsent = unsent - 1 end
    if is_unsent(value) then unsent = unsent + 1 else retried = retried + 1 end
    if not retry.known then grown = grown + 1 end
    add_pair(flush.fields, retry.mark, '1')
    add_pair(wait, retry.index, value)
    local set = due_set(flush.class, value)
    due_in[set] = due_in[set] or { 'ZADD', base .. set }
    add_pair(due_in[set], due, id .. '/' .. retry.index)
    if flush.crashes then add_pair(crashed, retry.index, flush.crashes) end
    if flush.class == BROADCAST then
      parts.hold_slot_after_broadcast(base, id, string.match(value, '^%d+|%d+|1'), flush.now())
    end
  end
  if #wait > 0 then write('HSET', base .. 'wait:' .. id, unpack(wait)) end
  for _, list in pairs(due_in) do write(unpack(list)) end
  if #crashed > 0 then write('HSET', base .. 'crashed:' .. id, unpack(crashed)) end
  if #wait > 0 and flush.ending then write('ZADD', base .. 'ending', int(flush.now()), id) end
  return retried, grown, unsent
end

-- Whether every recipient of a batch of retries has its result or waits again.
local function is_retry_accounted(base, id, flush, indexes, new)
  for index in string.gmatch(indexes, '%d+') do
    if not new[index] and not flush.retried[index] and redis.call('GETBIT', base .. 'done:' .. id, index) == 0
      and redis.call('HEXISTS', flush.batch, 'w' .. index) == 0 then return false end
  end
  return true
end

-- Whether every recipient of a batch has its result or waits for a retry once this flush is written.
function parts.is_accounted(base, id, flush)
  local from, count, indexes = unpack(redis.call('HMGET', flush.batch, 'from', 'count', 'indexes'))
  if flush.fresh == tonumber(count) then return true end
  local done, new = base .. 'done:' .. id, new_indexes(flush)
  if indexes then return is_retry_accounted(base, id, flush, indexes, new) end
  from, count = tonumber(from), tonumber(count)
  local first, last = math.floor(from / 8), math.floor((from + count - 1) / 8)
  local known = redis.call('BITCOUNT', done, int(first), int(last))
  for index in pairs(new) do
    local byte = math.floor(tonumber(index) / 8)
    if byte >= first and byte <= last then known = known + 1 end
  end
  for index in pairs(flush.retried) do
    if not new[index] then known = known + 1 end
  end
  if known >= count then return true end
  for _, field in ipairs(redis.call('HKEYS', flush.batch)) do
    local index = string.match(field, '^w(%d+)$')
    if index and not new[index] and redis.call('GETBIT', done, index) == 0 then known = known + 1 end
  end
  return known >= count
end

end
