
-- A recipient that waits and was never sent is no retry.
local function is_unsent(value)
  return value and string.sub(value, 1, 2) == '0|'
end

local BITS = { [0] = 128, 64, 32, 16, 8, 4, 2, 1 }

-- Notes in the map of results that these recipients have theirs. Returns how many had none before, and by position which
-- of them had one; nil when none had. A batch's bits lie side by side, so they are read and written in one piece.
local function mark_done(done, indexes)
  local low, high = indexes[1], indexes[1]
  for i = 2, #indexes do
    local index = indexes[i]
    if index < low then low = index elseif index > high then high = index end
  end
  -- A few, or such as lie far apart, are marked one by one.
  local in_one = #indexes >= 4 and high - low <= 4 * BATCH
  local first, last, bytes = math.floor(low / 8), math.floor(high / 8), nil
  if in_one then
    bytes = { string.byte(redis.call('GETRANGE', done, int(first), int(last)), 1, -1) }
    for at = #bytes + 1, last - first + 1 do bytes[at] = 0 end
  end
  local fresh, old = 0, nil
  for i = 1, #indexes do
    local index, is_new = indexes[i], nil
    if in_one then
      local at, bit_value = math.floor(index / 8) - first + 1, BITS[index % 8]
      is_new = bytes[at] % (2 * bit_value) < bit_value
      if is_new then bytes[at] = bytes[at] + bit_value end
    else
      is_new = redis.call('SETBIT', done, int(index), 1) == 0
    end
    if is_new then
      fresh = fresh + 1
    else
      old = old or {}
      old[i] = true
    end
  end
  if in_one and fresh > 0 then redis.call('SETRANGE', done, int(first), string.char(unpack(bytes))) end
  return fresh, old
end

-- The objects of those results that are new, as the text of an array. What stands inside a string has its quotes escaped,
-- so the next object begins where it seems to.
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

-- Results: each is set once, whoever brings it. Returns how many are new, how many of each letter, by position which were
-- there before, and how many of those that wait have never been sent.
local function settle(base, id, total, indexes, letters, objects, had_waiting, unsent)
  local counts = {}
  if #indexes == 0 then return 0, counts, nil, unsent end
  local fresh, old = 1, nil
  -- A job of one recipient is over with its result, so as long as there is the job there is none.
  if total > 1 then fresh, old = mark_done(base .. 'done:' .. id, indexes) end
  if old then objects = new_objects(objects, letters, old) end
  if objects ~= '' then redis.call('XADD', base .. 'results', '*', 'job', id, 'results', objects) end
  for i = 1, #indexes do
    if not (old and old[i]) then
      local letter = string.lower(string.sub(letters, i, i))
      counts[letter] = (counts[letter] or 0) + 1
    end
  end
  if had_waiting and fresh > 0 then
    local waiting, names = base .. 'wait:' .. id, {}
    for i = 1, #indexes do names[i] = int(indexes[i]) end
    for i, value in ipairs(redis.call('HMGET', waiting, unpack(names))) do
      if value and not (old and old[i]) then
        if unsent > 0 and is_unsent(value) then unsent = unsent - 1 end
        redis.call('HDEL', waiting, names[i])
        unschedule(base, id, names[i])
      end
    end
  end
  return fresh, counts, old, unsent
end

-- The first pass of a batch is over when its last send has begun: its answers need no slot.
local function pass(base, id, batch, progress)
  if redis.call('HSETNX', batch, 'sent', '1') == 0 then return end
  local spec_key, job = base .. 'spec:' .. id, base .. 'job:' .. id
  local passed = redis.call('HINCRBY', spec_key, 'passed', 1)
  if passed * BATCH < tonumber(progress[4]) then return end
  redis.call('HSETNX', job, 'first_pass_ms', int(now_ms()))
  if redis.call('HGET', job, 'state') == 'active' then redis.call('HSET', job, 'state', 'retrying') end
  if progress[5] == 'fanout' then release_slot(base, id) end
end

-- What the send to a topic or condition came to decides how long its turn lasts.
local function turn_of_aimed(base, id, may_run, now)
  hold_slot(base, id, may_run and tonumber(redis.call('HGET', base .. 'spec:' .. id, 'hold_ms') or '0') or 0, now)
end

-- Every recipient of a batch has its result or waits for a retry. A first pass of 1,000 fills 125 bytes of the map of
-- results, so that one count answers it as a rule.
local function is_accounted(base, id, batch)
  local facts, done = redis.call('HMGET', batch, 'from', 'count', 'indexes'), base .. 'done:' .. id
  if facts[3] then
    for index in string.gmatch(facts[3], '%d+') do
      if redis.call('GETBIT', done, index) == 0 and redis.call('HEXISTS', batch, 'w' .. index) == 0 then return false end
    end
    return true
  end
  local from, count = tonumber(facts[1]), tonumber(facts[2])
  local known = redis.call('BITCOUNT', done, int(math.floor(from / 8)), int(math.floor((from + count - 1) / 8)))
  if known >= count then return true end
  for _, field in ipairs(redis.call('HKEYS', batch)) do
    local index = string.match(field, '^w(%d+)$')
    if index and redis.call('GETBIT', done, index) == 0 then known = known + 1 end
  end
  return known >= count
end

-- Noted last: a flush of a job of one that fails half-way is made again, and must not count twice. (Of a larger job it
-- finds its results there, and counts nothing.)
local function account(common, counts, retried, fresh)
  local tally = common.tally
  for letter, amount in pairs(counts) do tally[LETTERS[letter]] = (tally[LETTERS[letter]] or 0) + amount end
  if retried > 0 then tally.retries = (tally.retries or 0) + retried end
  common.fresh = common.fresh + fresh
end

-- ---------------------------------------------------------------------------------------------------------------
-- record: one flush of one batch: results, feedback, retries and counters in one step. Also as `records`.
-- `common`: see new_common.
-- ARGV: 1 job id, 2 n, 3 epoch, 4 worker, 5 watermark ('' = as it is), 6 finish (1/0), 7 late (1/0),
--   8 ms to hold every send of the project (0 = none), 9 reason of a block ('' = none),
--   10 the project answers (1), or the probe was not sent (2), or neither (0),
--   11 answers of the first pass, 12 of them 400s that do not name the recipient, 13 such an error as JSON,
--   14 indexes of the results as a JSON array, 15 a status letter for each (s f u c x), in upper case when its object is
--   wanted, 16 those objects as one JSON array, each with `i` first ('' = none), 17 number of retries, 18 of feedback
--   entries, 19 number of the call within the batch, 20 every send of the batch has begun (1/0), 21 number of refused
--   rates, 22 what the worker takes the time for, then
--   retries: index, due, 1 = wait for the probe, "attempts|first_ms|dup|recipient"
--   feedback: index, kind, recipient, action, replacement, error
--   rates: "<kind>:<recipient>", until when no send to it begins
-- Returns {'ok', abort} (abort: the error that ends every unsent recipient, '' = none), {'stale'} (another worker
--   holds the batch: nothing was written, send the results again as late), or {'gone'} (the job is over).
local function record(base, args, common)
  local id, n, epoch = args[1], args[2], args[3]
  local indexes = cjson.decode(args[14])
  local spec_key = base .. 'spec:' .. id
  local progress = redis.call('HMGET', spec_key, 'left', 'abort', 'answers', 'total', 'class', 'paused', 'next', 'ending',
    'unsent', 'member', 'keep')
  local name = id .. '/' .. n
  local batch = base .. 'b:' .. name
  if not progress[1] then
    redis.call('DEL', batch)
    redis.call('SREM', base .. 'claims:' .. args[4], name)
    redis.call('SREM', base .. 'groups_on', id)
    if args[7] == '1' and redis.call('EXISTS', base .. 'job:' .. id) == 0 then
      -- Redis came back with a state in which the job was not handed over yet: whoever takes its entry must doubt.
      redis.call('HSET', base .. 'rolled:' .. id, n, int(BATCH))
      redis.call('PEXPIRE', base .. 'rolled:' .. id, HOUR)
    end
    return { 'gone' }
  end
  local late = args[7] == '1'
  local holder = redis.call('HMGET', batch, 'epoch', 'owner', 'call', 'crashes', 'upto', 'from')
  local owned = not late and holder[1] == epoch and holder[2] == args[4]
  if not owned and not late then
    -- A repeated call of the step that finished the batch has nothing new to say; one that was fenced may have.
    return { 'stale' }
  end
  if late and tonumber(n) and tonumber(n) * BATCH >= tonumber(progress[7] or '0') then
    -- Redis came back with an older state, in which this batch was not claimed yet: whoever claims it must look.
    redis.call('HSETNX', base .. 'rolled:' .. id, n, '0')
  end
  local function now()
    common.clock = common.clock or steady_ms(base, tonumber(args[22]))
    return common.clock
  end
  local job, done, waiting = base .. 'job:' .. id, base .. 'done:' .. id, base .. 'wait:' .. id
  local nretries, nfeedback, total = tonumber(args[17]), tonumber(args[18]), tonumber(progress[4])
  local aimed = progress[5] == 'aimed'
  local at = 23
  -- Nothing but a result. What else a call does may queue, block or stop jobs, and what was known of those is asked anew.
  local is_plain = not late and nretries == 0 and args[9] == '' and args[10] == '0' and not aimed
  if not is_plain then common.is_listed = nil end
  -- Of a job of one there is as a rule nothing else, which one question tells.
  local is_bare = is_plain and total == 1 and redis.call('EXISTS', waiting, base .. 'held:' .. id,
    base .. 'orphans:' .. id, base .. 'stopped:' .. id, base .. 'rolled:' .. id, base .. 'crashed:' .. id,
    base .. 'copy:' .. id) == 0
  local had_waiting, unsent = not is_bare and redis.call('EXISTS', waiting) == 1, tonumber(progress[9]) or 0
  -- A call that is repeated because its answer was lost counts and holds nothing twice.
  local first_time = owned and tonumber(args[19]) > tonumber(holder[3] or '0')
  local fresh, counts, old
  fresh, counts, old, unsent = settle(base, id, total, indexes, args[15], args[16], had_waiting, unsent)
  -- A job of one ends with its result, and gets it then.
  if total > 1 then
    for letter, count in pairs(counts) do redis.call('HINCRBY', job, LETTERS[letter], count) end
  end
  local crashes = holder[4]
  if fresh > 0 and crashes then
    crashes = false
    redis.call('HDEL', batch, 'crashes', 'alone')
    redis.call('DEL', base .. 'crashed:' .. id)
  end
  if aimed and fresh > 0 then turn_of_aimed(base, id, counts.s or counts.u, now()) end

  local ctl = base .. 'ctl'
  -- Workers of 0826d19 block the project where the API of an operation refuses it ('HTTP 404 …'). Sends go to another API;
  -- only a credential that the token endpoint refuses ('HTTP 400: …') is theirs, too.
  local blocks = args[9] ~= '' and not (progress[5] == 'managed' and string.match(args[9], '^HTTP %d+ '))
  if first_time and blocks then
    redis.call('HSET', ctl, 'block', args[9], 'block_until', int(now() + 60000))
    if redis.call('HGET', job, 'state') ~= 'parked' and not progress[6] then
      redis.call('SADD', base .. 'blocked', id)
      redis.call('HSET', job, 'state', 'paused', 'reason', args[9])
    end
  elseif first_time and args[10] == '2' and redis.call('HEXISTS', ctl, 'block') == 1 then
    redis.call('HSET', ctl, 'block_until', int(now()))
  elseif first_time and args[10] == '1' and redis.call('HEXISTS', ctl, 'block') == 1 then
    unblock(base)
  end
  local retried = 0
  for _ = 1, nretries do
    local index, due, parked, value = args[at], args[at + 1], args[at + 2], args[at + 3]
    at = at + 4
    -- A schedule is a decision: only the holder's counts, and never for a recipient that has its result.
    -- The mark makes it set-once: repeated, the call must not bring a recipient back that another worker has by now.
    if owned and redis.call('GETBIT', done, index) == 0 and redis.call('HSETNX', batch, 'w' .. index, '1') == 1 then
      if parked == '1' then due = int(math.max(tonumber(due), now() + 60000)) end
      if unsent > 0 and is_unsent(redis.call('HGET', waiting, index)) then unsent = unsent - 1 end
      if is_unsent(value) then unsent = unsent + 1 else retried = retried + 1 end
      redis.call('HSET', waiting, index, value)
      schedule(base, id, progress[5], index, value, due)
      if crashes then redis.call('HSET', base .. 'crashed:' .. id, index, crashes) end
      if progress[8] then redis.call('ZADD', base .. 'ending', int(now()), id) end
      had_waiting = true
      if aimed then turn_of_aimed(base, id, string.match(value, '^%d+|%d+|1'), now()) end
    end
  end
  local new = {}
  if nfeedback > 0 then
    for i, index in ipairs(indexes) do
      if not (old and old[i]) then new[int(index)] = true end
    end
  end
  for _ = 1, nfeedback do
    if new[args[at]] then
      redis.call('XADD', base .. 'feedback', '*', args[at + 1], args[at + 2], 'action', args[at + 3], 'replacement',
        args[at + 4], 'error', args[at + 5], 'job', id)
    end
    at = at + 6
  end
  for _ = 1, tonumber(args[21]) do
    if first_time then hold_recipient(base, args[at], tonumber(args[at + 1]), now()) end
    at = at + 2
  end
  if had_waiting then redis.call('HSET', job, 'retrying', int(redis.call('HLEN', waiting) - unsent)) end
  if unsent ~= (tonumber(progress[9]) or 0) then redis.call('HSET', spec_key, 'unsent', int(unsent)) end
  if first_time and tonumber(args[8]) > 0 then hold_project(base, tonumber(args[8]), now()) end

  -- A fan-out whose first answers say that the message itself is wrong stops before it burns the quota.
  local abort = progress[2] or ''
  local seen = tonumber(progress[3]) or 0
  if first_time and abort == '' and seen < 100 and tonumber(args[11]) > 0 and total > BATCH then
    seen = redis.call('HINCRBY', spec_key, 'answers', args[11])
    local bad = redis.call('HINCRBY', spec_key, 'bad', args[12])
    if args[13] ~= '' then redis.call('HSET', spec_key, 'bad_answer', args[13]) end
    if seen >= 100 and 2 * bad > seen then
      abort = redis.call('HGET', spec_key, 'bad_answer')
      redis.call('HSET', spec_key, 'abort', abort)
    end
  end

  if tonumber(progress[1]) == fresh then
    -- The job is over, and with it whatever was still to be noted of this batch.
    local owner, last = holder[2], { common = common, is_bare = is_bare }
    last.spec = { progress[10], progress[5], progress[11] }
    if owner then last.batch = batch end
    if total == 1 then last.letter, last.count = next(counts) end
    finish_job(base, id, last)
    if owner then note_for_end(common, 'released', owner, name) end
    account(common, counts, retried, fresh)
    return { 'ok', abort }
  end
  if fresh > 0 then redis.call('HINCRBY', spec_key, 'left', -fresh) end
  if first_time then redis.call('HSET', batch, 'call', args[19]) end
  if owned and args[5] ~= '' and tonumber(args[5]) > tonumber(holder[5]) then
    redis.call('HSET', batch, 'upto', args[5])
  end
  if owned and holder[6] and (args[20] == '1' or args[6] == '1') then pass(base, id, batch, progress) end
  if owned and args[6] == '1' then
    note_for_end(common, 'released', args[4], name)
    redis.call('SREM', base .. 'groups_on', id)
    if is_accounted(base, id, batch) then
      if holder[6] then redis.call('HDEL', base .. 'rcpt:' .. id, n) end
      redis.call('DEL', batch)
    else
      -- A call before this one went into a state that Redis has forgotten, and somebody with it: whoever has no result
      -- may have been sent to, and is looked after by the next holder.
      redis.call('HSET', batch, 'epoch', next_epoch(base, now()), 'upto', redis.call('HGET', batch, 'count'))
      redis.call('HDEL', batch, 'alone')
      orphan(base, name, now())
      common.is_listed = nil
    end
  end
  account(common, counts, retried, fresh)
  return { 'ok', abort }
end

-- What the flushes of one call have in common. What a batch would be stranded without comes first: a spoilt key stops
-- what stands behind it.
local function record_end(base, common)
  for worker, names in pairs(common.released or {}) do redis.call('SREM', base .. 'claims:' .. worker, unpack(names)) end
  if common.fresh > 0 then redis.call('HINCRBY', base .. 'ctl', 'left', int(-common.fresh)) end
  if common.closed then redis.call('SREM', base .. 'jobs_open', unpack(common.closed.all)) end
  for name, amount in pairs(common.tally) do redis.call('HINCRBY', base .. 'tally', name, int(amount)) end
end
