
-- The functions that other files call. All others are local to this block: Lua allows 200 locals in the whole library.
local record, record_end
do

-- Status letters in the order of a job's counters; see LETTERS.
local COUNTERS = { 's', 'f', 'u', 'c', 'x' }

-- Reads the project's counters. `changed`: names of the counters that this call changes; none yet.
local function read_totals(base)
  local names = { 'sent', 'failed', 'unknown', 'cancelled', 'expired', 'retries' }
  local totals = { left = tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0, changed = {} }
  for i, value in ipairs(redis.call('HMGET', base .. 'tally', unpack(names))) do
    totals[names[i]] = tonumber(value) or 0
  end
  return totals
end

-- Returns a copy of the totals with these results and retries added. It replaces the old one when its step is noted.
local function add_totals(totals, counts, retried, fresh)
  local sum = { changed = {} }
  for name, value in pairs(totals) do
    if name ~= 'changed' then sum[name] = value end
  end
  for name in pairs(totals.changed) do sum.changed[name] = true end
  local function add(name, amount)
    if amount ~= 0 then
      sum[name] = sum[name] + amount
      sum.changed[name] = true
    end
  end
  for letter, amount in pairs(counts) do add(LETTERS[letter], amount) end
  add('retries', retried)
  add('left', -fresh)
  return sum
end

local function writes_of_totals(base, totals)
  local tally, writes = { 'HSET', base .. 'tally' }, {}
  for name in pairs(totals.changed) do
    if name ~= 'left' then
      tally[#tally + 1] = name
      tally[#tally + 1] = int(totals[name])
    end
  end
  if #tally > 2 then writes[1] = tally end
  if totals.changed.left then writes[#writes + 1] = { 'HSET', base .. 'ctl', 'left', int(totals.left) } end
  return writes
end

-- Makes a step together with the change of the project's totals that belongs to it.
local function commit_counted(base, id, writes, common, counts, retried, fresh)
  if fresh == 0 and retried == 0 then return commit(base, id, writes, common.totals and common.totals.writes) end
  local sum = add_totals(common.totals or read_totals(base), counts, retried, fresh)
  sum.writes = writes_of_totals(base, sum)
  commit(base, id, writes, sum.writes, function() common.totals = sum end)
end

-- Ends a one-recipient job with its result. Only its spec, recipient and batch are left: record_end removes those of
-- all such jobs of the call.
local function end_single(base, id, n, owner, progress, known, letter, common)
  local job, status = base .. 'job:' .. id, LETTERS[letter]
  common.ended_at = common.ended_at or int(now_ms())
  redis.call('HSET', job, final_fields({ status == 'cancelled' and 1, status == 'expired' and 1, known[6] },
    common.ended_at, { status, '1' }))
  if known[7] then redis.call('HDEL', job, 'reason') end
  redis.call('PEXPIRE', job, progress[11])
  if progress[5] == 'group' then redis.call('SREM', base .. 'groups_on', id) end
  common.over_ids[id] = true
  note_for_end(common, 'over', owner, id)
  note_for_end(common, 'over', owner, n)
  common.over_counts[letter] = (common.over_counts[letter] or 0) + 1
end

-- Answers a flush of a job without a spec: it is over, or Redis came back with a state in which it was not handed over
-- yet.
local function record_of_none(base, id, n, worker, is_late)
  local name = id .. '/' .. n
  write('DEL', base .. 'b:' .. name)
  write('SREM', base .. 'claims:' .. worker, name)
  write('SREM', base .. 'groups_on', id)
  if is_late and redis.call('EXISTS', base .. 'job:' .. id) == 0 then
    -- The worker that takes its entry must treat its recipients as possibly sent.
    write('HSET', base .. 'rolled:' .. id, n, int(BATCH))
    write('PEXPIRE', base .. 'rolled:' .. id, HOUR)
  end
  return { 'gone' }
end

-- Blocks the project, has it probed again at once, or ends its block. Part of a step. `known`: see decide_flush.
local function change_block(base, id, args, flush, known, progress)
  local ctl = base .. 'ctl'
  if args[9] ~= '' then
    write('HSET', ctl, 'block', args[9], 'block_until', int(flush.now() + 60000))
    if known[8] ~= 'parked' and not progress[6] then
      write('SADD', base .. 'blocked', id)
      write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', args[9])
      known[7], known[8], flush.is_listed = args[9], 'paused', true
    end
  elseif args[10] == '2' and redis.call('HEXISTS', ctl, 'block') == 1 then
    write('HSET', ctl, 'block_until', int(flush.now()))
  elseif args[10] == '1' and redis.call('HEXISTS', ctl, 'block') == 1 then
    unblock(base)
  end
end

-- Stops a fan-out when more than half of its first 100 answers say that the message itself is wrong. Part of a step.
-- Returns the error that ends its unsent recipients, '' for none. `fields`: pairs that the step writes to the spec.
local function weigh_answers(args, progress, fields)
  local abort, seen = progress[2] or '', tonumber(progress[3]) or 0
  if abort ~= '' or seen >= 100 or tonumber(args[11]) <= 0 or tonumber(progress[4]) <= BATCH then return abort end
  local bad, answer = (tonumber(progress[13]) or 0) + tonumber(args[12]), progress[14]
  seen = seen + tonumber(args[11])
  fields[#fields + 1], fields[#fields + 2] = 'answers', int(seen)
  fields[#fields + 1], fields[#fields + 2] = 'bad', int(bad)
  if args[13] ~= '' then
    answer = args[13]
    fields[#fields + 1], fields[#fields + 2] = 'bad_answer', answer
  end
  if seen < 100 or 2 * bad <= seen then return abort end
  fields[#fields + 1], fields[#fields + 2] = 'abort', answer
  return answer
end

-- Notes that a batch's first pass is over: its last send has begun, and its answers need no slot. Part of a step.
local function pass(base, id, flush, known, progress, fields)
  local job, passed = base .. 'job:' .. id, (tonumber(progress[12]) or 0) + 1
  flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'sent', '1'
  flush.has_passed = '1'
  fields[#fields + 1], fields[#fields + 2] = 'passed', int(passed)
  if passed * BATCH < tonumber(progress[4]) then return end
  if not known[6] then
    known[6] = int(now_ms())
    write('HSETNX', job, 'first_pass_ms', known[6])
  end
  if known[8] == 'active' then write('HSET', job, 'state', 'retrying') end
  if progress[5] == 'fanout' then release_slot(base, id) end
end

-- Ends a batch with its last flush. Part of a step.
local function close_batch(base, id, n, worker, flush, is_first_pass)
  local name = id .. '/' .. n
  if is_accounted(base, id, flush) then
    if is_first_pass then write('HDEL', base .. 'rcpt:' .. id, n) end
    write('DEL', flush.batch)
  else
    -- Redis has forgotten an earlier call of this batch. Recipients without a result may have been sent to: the batch
    -- goes to the next holder, with all of them below the watermark.
    local count = redis.call('HGET', flush.batch, 'count')
    flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'upto', count
    write('HSET', flush.batch, unpack(flush.fields))
    write('HDEL', flush.batch, 'alone')
    orphan(base, name, flush.now(), { sent = flush.has_passed, crashes = flush.crashes or '0', upto = count })
    flush.common.is_listed = nil
  end
  write('SREM', base .. 'claims:' .. worker, name)
  write('SREM', base .. 'groups_on', id)
end

-- Decides the writes of a flush. Part of a step. `known`: of the job's hash: sent, failed, unknown, cancelled, expired,
-- first_pass_ms, reason, state. Returns the error that ends the job's unsent recipients, and the number of new retries.
local function decide_flush(base, args, flush, known, progress, holder)
  local id, n, fresh = args[1], args[2], flush.fresh
  local job, spec_key, fields, counters = base .. 'job:' .. id, base .. 'spec:' .. id, {}, {}
  if fresh > 0 and flush.crashes then
    flush.crashes = false
    write('HDEL', flush.batch, 'crashes', 'alone')
    write('DEL', base .. 'crashed:' .. id)
  end
  if flush.class == 'aimed' and fresh > 0 then turn_of_aimed(base, id, flush.counts.s or flush.counts.u, flush.now()) end
  if flush.first_time then change_block(base, id, args, flush, known, progress) end
  for i, letter in ipairs(COUNTERS) do
    if flush.counts[letter] then
      known[i] = (tonumber(known[i]) or 0) + flush.counts[letter]
      counters[#counters + 1], counters[#counters + 2] = LETTERS[letter], int(known[i])
    end
  end
  local unsent, removed, fewer = tonumber(progress[9]) or 0, 0, 0
  if flush.had_waiting and #flush.indexes > 0 then removed, fewer = stop_waiting(base, id, flush.indexes) end
  local retried, grown, more = schedule_retries(base, id, flush, args, 23)
  if flush.first_time and tonumber(args[8]) > 0 then hold_project(base, tonumber(args[8]), flush.now()) end
  local abort = flush.first_time and weigh_answers(args, progress, fields) or progress[2] or ''
  local left = tonumber(progress[1]) - fresh
  local passes = flush.owned and holder[6] and not holder[7] and (args[20] == '1' or args[6] == '1')
  if left <= 0 then
    -- The job is over: nothing more of this batch is written.
    finish_job(base, id, { known = { known[4], known[5], known[6], known[7] }, counters = counters,
      batch = holder[2] and flush.batch, spec = { progress[10], progress[5], progress[11] }, is_listed = flush.is_listed })
    if holder[2] then write('SREM', base .. 'claims:' .. holder[2], args[1] .. '/' .. n) end
    return abort, retried
  end
  for _, mark in ipairs(flush.marks) do write(unpack(mark)) end
  if passes then pass(base, id, flush, known, progress, fields) end
  if fresh > 0 then fields[#fields + 1], fields[#fields + 2] = 'left', int(left) end
  local waits = math.max(0, unsent - fewer + more)
  if waits ~= unsent then fields[#fields + 1], fields[#fields + 2] = 'unsent', int(waits) end
  if #fields > 0 then write('HSET', spec_key, unpack(fields)) end
  if flush.had_waiting or grown > 0 then
    local size = flush.had_waiting and redis.call('HLEN', base .. 'wait:' .. id) or 0
    counters[#counters + 1], counters[#counters + 2] = 'retrying', int(size - removed + grown - waits)
  end
  if #counters > 0 then write('HSET', job, unpack(counters)) end
  if flush.first_time then flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'call', args[19] end
  if flush.owned and args[5] ~= '' and tonumber(args[5]) > tonumber(holder[5]) then
    flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'upto', args[5]
  end
  if flush.owned and args[6] == '1' then
    close_batch(base, id, n, args[4], flush, holder[6])
  elseif #flush.fields > 0 then
    write('HSET', flush.batch, unpack(flush.fields))
  end
  return abort, retried
end

-- ---------------------------------------------------------------------------------------------------------------
-- record: one flush of one batch: results, feedback, retries and counters in one step (see redo.lua), after
-- the entries that leave. Also as `records`.
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
--   optional names, each with its value: 'subscribed', see count_subscribed
-- Returns {'ok', abort} (abort: the error that ends every unsent recipient, '' = none), {'stale'} (another worker
--   holds the batch: nothing was written, send the results again as late), or {'gone'} (the job is over).
function record(base, args, common)
  local id, n, epoch = args[1], args[2], args[3]
  if common.over_ids[id] then return { 'gone' } end
  refuse_stuck(id)
  local indexes, late = cjson.decode(args[14]), args[7] == '1'
  local progress = redis.call('HMGET', base .. 'spec:' .. id, 'left', 'abort', 'answers', 'total', 'class', 'paused', 'next',
    'ending', 'unsent', 'member', 'keep', 'passed', 'bad', 'bad_answer')
  if not progress[1] then return record_of_none(base, id, n, args[4], late) end
  local batch = base .. 'b:' .. id .. '/' .. n
  local holder = redis.call('HMGET', batch, 'epoch', 'owner', 'call', 'crashes', 'upto', 'from', 'sent')
  local owned = not late and holder[1] == epoch and holder[2] == args[4]
  if not owned and not late then
    -- A repeated call of the step that finished the batch has nothing new to say; one that was fenced may have.
    return { 'stale' }
  end
  if late and tonumber(n) and tonumber(n) * BATCH >= tonumber(progress[7] or '0') then
    -- Redis came back with an older state, in which this batch was not claimed yet: whoever claims it must look.
    write('HSETNX', base .. 'rolled:' .. id, n, '0')
  end
  local function now()
    common.clock = common.clock or steady_ms(base, tonumber(args[22]))
    return common.clock
  end
  local waiting, total, class = base .. 'wait:' .. id, tonumber(progress[4]), progress[5]
  -- A plain call has results only. Any other may queue, block or stop jobs, so `is_listed` is asked again after it.
  local is_plain = not late and args[17] == '0' and args[9] == '' and args[10] == '0' and class ~= 'aimed'
  if not is_plain then common.is_listed = {} end
  -- A one-recipient job usually has no other keys; a single EXISTS decides.
  local is_bare = is_plain and total == 1 and #indexes == 1 and redis.call('EXISTS', waiting, base .. 'held:' .. id,
    base .. 'orphans:' .. id, base .. 'stopped:' .. id, base .. 'rolled:' .. id, base .. 'crashed:' .. id,
    base .. 'copy:' .. id) == 0
  if is_bare then
    -- Bare jobs of one class that end in one call ask it once.
    if common.is_listed[class] == nil then common.is_listed[class] = is_listed(base, id, class) end
    is_bare = not common.is_listed[class]
  end
  -- A call that is repeated because its answer was lost counts and holds nothing twice.
  local first_time = owned and tonumber(args[19]) > tonumber(holder[3] or '0')
  local fresh, counts, old, marks = look_up_results(base, id, total, indexes, args[15])
  local known = (#indexes > 0 or not is_plain or args[6] == '1' or args[20] == '1')
    and redis.call('HMGET', base .. 'job:' .. id, 'sent', 'failed', 'unknown', 'cancelled', 'expired', 'first_pass_ms',
      'reason', 'state') or {}
  -- Entries of outgoing streams go first, see redo.lua.
  local at = send_out(base, id, args, indexes, old, 23 + 4 * tonumber(args[17]))
  for _ = 1, tonumber(args[21]) do
    if first_time then hold_recipient(base, args[at], tonumber(args[at + 1]), now()) end
    at = at + 2
  end
  for i = at, #args - 1, 2 do
    if args[i] == 'subscribed' then count_subscribed(base, args[i + 1]) end
  end
  if is_bare then
    end_single(base, id, n, holder[2], progress, known, (next(counts)), common)
    return { 'ok', progress[2] or '' }
  end
  local had_waiting = redis.call('EXISTS', waiting) == 1
  local flush = { common = common, now = now, indexes = indexes, fresh = fresh, counts = counts, old = old, marks = marks,
    batch = batch, owned = owned, first_time = first_time, class = class, ending = progress[8], crashes = holder[4],
    had_waiting = had_waiting, fields = {}, retried = {} }
  step = {}
  local abort, retried = decide_flush(base, args, flush, known, progress, holder)
  local writes = step
  step = nil
  commit_counted(base, id, writes, common, counts, retried, fresh)
  return { 'ok', abort }
end

-- Ends the one-recipient jobs of all flushes of one call, and writes the project's totals.
function record_end(base, common)
  if common.over then
    local writes, fresh = {}, 0
    for worker, names in pairs(common.over) do writes[#writes + 1] = { 'over', base, worker, unpack(names) } end
    for _, count in pairs(common.over_counts) do fresh = fresh + count end
    commit_counted(base, '', writes, common, common.over_counts, 0, fresh)
  end
  if common.totals then make_totals(common.totals.writes) end
end

end
