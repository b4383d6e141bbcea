-- record: writes one flush of one batch; its parts are in record_parts.lua. `flush`: the values that they share.
--   job, spec, holder  fields of job:<id>, spec:<id> and of the batch, as read at the beginning
--   batch, owned       the key of the batch; whether the caller holds it
--   class, ending, crashes, has_passed   of the spec and the batch, as this flush changes them
--   indexes, counts    indexes of the results; status letter -> new results; `fresh`: how many are new; `flagged`: how
--                      many of these are possible duplicates
--   old, marks         positions of results that were known before; the writes that set the bits of the new ones
--   first_time         the call is not a repeated one
--   had_waiting        recipients of the job wait for a retry
--   fields, spec_fields, job_fields   pairs that the step writes to the batch, the spec and the job's hash
--   retried            indexes that the flush hands on to a retry, as a set
--   is_listed          the step puts the job into a list; see finish_job
--   guarded            pairs of the reply that the job's guards add; nil without guards
--   common, now        see new_common; a function that returns the project's time

local record, finish_records
do

-- Adds results and retries to the project's counters that this call changes. Returns these, `tally` and `left`, and the
-- `writes` that store them. `before`: the same of the call's earlier flushes.
local function add_totals(base, before, counts, retried, fresh, flagged)
  local tally, writes, pairs_of_tally = {}, {}, { 'HSET', base .. 'tally' }
  for name, value in pairs(before.tally) do tally[name] = value end
  local function add(name, amount)
    if amount == 0 then return end
    tally[name] = (tally[name] or tonumber(redis.call('HGET', base .. 'tally', name)) or 0) + amount
  end
  for letter, amount in pairs(counts) do add(LETTERS[letter], amount) end
  add('retries', retried)
  add('maybe_dup', flagged)
  local left = before.left
  if fresh > 0 then left = (left or tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0) - fresh end
  for name, value in pairs(tally) do add_pair(pairs_of_tally, name, int(value)) end
  if next(tally) then writes[#writes + 1] = pairs_of_tally end
  if left then writes[#writes + 1] = { 'HSET', base .. 'ctl', 'left', int(left) } end
  return { tally = tally, left = left, writes = writes }
end

-- Makes a step together with the change of the project's totals that belongs to it.
local function commit_counted(base, id, writes, common, counts, retried, fresh, flagged)
  if fresh == 0 and retried == 0 then return commit(base, id, writes, common.totals and common.totals.writes) end
  local totals = add_totals(base, common.totals or { tally = {} }, counts, retried, fresh, flagged)
  commit(base, id, writes, totals.writes, function() common.totals = totals end)
end

-- Ends a one-recipient job with its result. finish_records removes the private keys of all such jobs of the call.
local function end_single(base, id, n, flush)
  local key, known, common = base .. 'job:' .. id, flush.job, flush.common
  local letter = next(flush.counts)
  local status = LETTERS[letter]
  common.ended_at = common.ended_at or int(wall_ms())
  local counters = { status, '1' }
  for name in pairs(flush.errors) do add_pair(counters, name, '1') end
  if flush.flagged > 0 then add_pair(counters, 'maybe_dup', '1') end
  local final = { cancelled = status == 'cancelled' and 1, expired = status == 'expired' and 1,
    first_pass_ms = known.first_pass_ms }
  redis.call('HSET', key, final_fields(final, common.ended_at, counters))
  if known.reason then
    redis.call('HDEL', key, 'reason')
    pauses.remove(base, id)
  end
  redis.call('PEXPIRE', key, flush.spec.keep)
  if flush.spec.class == 'group' then redis.call('SREM', base .. 'groups_on', id) end
  if is_listed_when_over(id, flush.spec) then
    collect(common, 'finished', 'all', common.ended_at)
    collect(common, 'finished', 'all', id)
  end
  common.over_ids[id] = true
  collect(common, 'over', flush.holder.owner, id)
  collect(common, 'over', flush.holder.owner, n)
  common.over_counts[letter] = (common.over_counts[letter] or 0) + 1
  common.over_flagged = common.over_flagged + flush.flagged
end

-- Answers a flush of a job without a spec: it is over, or Redis came back with a state before its intake.
local function record_of_none(base, id, n, worker, is_late)
  local name = id .. '/' .. n
  write('DEL', base .. 'b:' .. name)
  write('SREM', base .. 'claims:' .. worker, name)
  write('SREM', base .. 'groups_on', id)
  -- Of a compact job only the note is left: show_waiting finds it by its empty text, and gives it up.
  if redis.pcall('HEXISTS', base .. 'compact:' .. worker, id) == 1 then
    write('HSET', base .. 'compact', id, '')
    write('HDEL', base .. 'compact:' .. worker, id)
  end
  if is_late and redis.call('EXISTS', base .. 'job:' .. id) == 0 then
    -- The worker that takes its entry must treat its recipients as possibly sent.
    write('HSET', base .. 'rolled:' .. id, n, int(BATCH))
    write('PEXPIRE', base .. 'rolled:' .. id, HOUR)
  end
  return 'gone'
end

-- Blocks the project, has it probed at once, or ends its block. Part of a step. `answer`: 1 when FCM answers for the
-- project, 2 when the probe was not sent, else 0.
local function change_block(base, id, flush, reason, answer)
  local control = base .. 'ctl'
  if reason ~= '' then
    refusals.block(base, reason, flush.now())
    refusals.pause_job(base, id, flush, reason)
  elseif answer ~= '0' then
    if answer == '1' then write('HDEL', control, 'doubted') end
    if redis.call('HEXISTS', control, 'block') == 0 then return end
    if answer == '1' then
      add_mark(base, 'resume', 'FCM accepts the project again')
      unblock(base)
    else
      write('HSET', control, 'block_until', int(flush.now()))
    end
  end
end

-- Marks a batch's first pass as over: its last send has begun, and its answers need no slot. Part of a step.
local function end_first_pass(base, id, flush)
  local passed = (tonumber(flush.spec.passed) or 0) + 1
  add_pair(flush.fields, 'sent', '1')
  flush.has_passed = '1'
  add_pair(flush.spec_fields, 'passed', int(passed))
  if passed * BATCH < tonumber(flush.spec.total) then return end
  if not flush.job.first_pass_ms then
    flush.job.first_pass_ms = int(wall_ms())
    write('HSETNX', base .. 'job:' .. id, 'first_pass_ms', flush.job.first_pass_ms)
  end
  if flush.job.state == 'active' then write('HSET', base .. 'job:' .. id, 'state', 'retrying') end
  if flush.class == 'fanout' then release_slot(base, id) end
end

-- Closes a batch with its last flush. Part of a step.
local function close_batch(base, id, n, worker, flush)
  local name = id .. '/' .. n
  if parts.is_accounted(base, id, flush) then
    if flush.holder.from then delete_recipients(base, id, n) end
    write('DEL', flush.batch)
  else
    -- Redis has forgotten an earlier call: the next holder gets the batch with all recipients below the watermark.
    local count = redis.call('HGET', flush.batch, 'count')
    add_pair(flush.fields, 'upto', count)
    write('HSET', flush.batch, unpack(flush.fields))
    write('HDEL', flush.batch, 'alone')
    orphan(base, name, flush.now(), { sent = flush.has_passed, crashes = flush.crashes or '0', watermark = count })
    flush.common.is_listed = {}
  end
  write('SREM', base .. 'claims:' .. worker, name)
  write('SREM', base .. 'groups_on', id)
end

-- Adds the new results to the job's counters, and forgets earlier crashes. Part of a step.
local function count_results(base, id, flush)
  if flush.fresh > 0 and flush.crashes then
    flush.crashes = false
    write('HDEL', flush.batch, 'crashes', 'alone')
    write('DEL', base .. 'crashed:' .. id)
    if string.find(flush.job.reason or '', '^quarantined: ') then
      flush.job.reason = nil
      write('HDEL', base .. 'job:' .. id, 'reason')
    end
  end
  if flush.class == BROADCAST and flush.fresh > 0 then
    parts.hold_slot_after_broadcast(base, id, flush.counts.s or flush.counts.u, flush.now())
  end
  for letter, count in pairs(flush.counts) do
    local status = LETTERS[letter]
    flush.job[status] = (tonumber(flush.job[status]) or 0) + count
    add_pair(flush.job_fields, status, int(flush.job[status]))
  end
  for name, count in pairs(flush.errors) do
    local known = tonumber(redis.call('HGET', base .. 'job:' .. id, name)) or 0
    add_pair(flush.job_fields, name, int(known + count))
  end
  if flush.flagged > 0 then
    local known = tonumber(redis.call('HGET', base .. 'job:' .. id, 'maybe_dup')) or 0
    add_pair(flush.job_fields, 'maybe_dup', int(known + flush.flagged))
  end
end

-- Writes the job's hash and spec. Part of a step. `removed`, `grown`: recipients that left and joined wait:<id>. Returns
-- how many wait and were sent to.
local function write_progress(base, id, flush, left, removed, grown, unsent)
  for _, mark in ipairs(flush.marks) do write(unpack(mark)) end
  if flush.fresh > 0 then add_pair(flush.spec_fields, 'left', int(left)) end
  if unsent ~= (tonumber(flush.spec.unsent) or 0) then add_pair(flush.spec_fields, 'unsent', int(unsent)) end
  if #flush.spec_fields > 0 then write('HSET', base .. 'spec:' .. id, unpack(flush.spec_fields)) end
  local retrying = 0
  if flush.had_waiting or grown > 0 then
    local size = flush.had_waiting and redis.call('HLEN', base .. 'wait:' .. id) or 0
    retrying = size - removed + grown - unsent
    add_pair(flush.job_fields, 'retrying', int(retrying))
    if retrying == 0 then refusals.clear_refusal(base, id, flush) end
  end
  parts.mark_pace(flush, tonumber(flush.spec.total) - left + retrying)
  if #flush.job_fields > 0 then write('HSET', base .. 'job:' .. id, unpack(flush.job_fields)) end
  return retrying
end

-- Applies the guards of a job to a flush, and raises the batch's watermark. Part of a step. `tried`: see judge_guards.
-- Returns pairs for the reply; nil for none.
local function apply_guards(base, id, n, flush, call, tried)
  local guard, reason = judge_guards(base, id, flush, call.attempts, tried, n .. ' ' .. call.number)
  local reply = guard and { 'paused', guard, 'reason', reason } or nil
  if not flush.owned or call.watermark == '' then return reply end
  local known, asked = tonumber(flush.holder.watermark), tonumber(call.watermark)
  -- A repeated call gets what the first one got.
  local watermark, wait = known, 1000
  if flush.first_time then watermark, wait = raise_watermark(base, id, flush.spec, flush.holder, asked, flush.now) end
  if watermark > known then add_pair(flush.fields, 'upto', int(watermark)) end
  if watermark < asked then
    reply = reply or {}
    add_pair(reply, 'watermark', int(watermark))
    add_pair(reply, 'wait_ms', int(wait))
  end
  return reply
end

-- How many recipients of the job have a result with 0 attempts. Part of a step. Counts low where a flush also has others:
-- such a job had an attempt.
local function count_untried(flush, call)
  local known = tonumber(flush.spec.untried) or 0
  if not call.is_untried or flush.fresh == 0 then return known end
  add_pair(flush.spec_fields, 'untried', int(known + flush.fresh))
  return known + flush.fresh
end

-- Decides the writes of a flush. Part of a step. `call`: arguments of record by their names; `at`: the place of the
-- retries in `args`. Returns the number of new retries.
local function decide_flush(base, id, n, flush, call, args, at)
  local holder, removed, fewer = flush.holder, 0, 0
  count_results(base, id, flush)
  if flush.first_time then
    change_block(base, id, flush, call.block_reason, call.project_answers)
    if call.refusal then refusals.weigh_refusals(base, id, flush, call) end
  end
  if flush.had_waiting and #flush.indexes > 0 then removed, fewer = parts.stop_waiting(base, id, flush.indexes) end
  local retried, grown, more = parts.write_retries(base, id, flush, args, at, call.retries)
  if flush.first_time and call.hold_ms > 0 then hold_project(base, call.hold_ms, flush.now()) end
  if flush.first_time then
    flush.refused = judge_message(base, id, flush, call.answers, call.refusals, call.refused_detail)
  end
  local left, untried = tonumber(flush.spec.left) - flush.fresh, count_untried(flush, call)
  if left <= 0 then
    finish_job(base, id, flush.job, flush.spec, { counters = flush.job_fields, batch = holder.owner and flush.batch,
      is_listed = flush.is_listed, is_untried = untried == tonumber(flush.spec.total) })
    if holder.owner then write('SREM', base .. 'claims:' .. holder.owner, id .. '/' .. n) end
    return retried
  end
  if flush.owned and holder.from and not holder.sent and (call.all_sent or call.finish) then
    end_first_pass(base, id, flush)
  end
  local unsent = math.max(0, (tonumber(flush.spec.unsent) or 0) - fewer + more)
  local retrying = write_progress(base, id, flush, left, removed, grown, unsent)
  if flush.first_time then add_pair(flush.fields, 'call', call.number) end
  flush.guarded = apply_guards(base, id, n, flush, call, tonumber(flush.spec.total) - left + retrying)
  if flush.owned and call.finish then
    close_batch(base, id, n, holder.owner, flush)
  elseif #flush.fields > 0 then
    write('HSET', flush.batch, unpack(flush.fields))
  end
  return retried
end

-- Makes the step of a flush.
local function make_flush(base, id, n, flush, call, args, at)
  flush.had_waiting = redis.call('EXISTS', base .. 'wait:' .. id) == 1
  flush.fields, flush.spec_fields, flush.job_fields, flush.retried = {}, {}, {}, {}
  step = {}
  local retried = decide_flush(base, id, n, flush, call, args, at)
  local writes = step
  step = nil
  commit_counted(base, id, writes, flush.common, flush.counts, retried, flush.fresh, flush.flagged)
end

-- Whether the flush ends a one-recipient job that has no other keys. Usually so: a single EXISTS decides. A recipient in
-- a batch of retries is no longer scheduled, and leaves wait:<id> with its job.
local function is_bare(base, id, n, flush)
  local first = (string.find(n, '^r') and 'held:' or 'wait:') .. id
  if tonumber(flush.spec.total) ~= 1 or #flush.indexes ~= 1 or redis.call('EXISTS', base .. first,
    base .. 'held:' .. id, base .. 'orphans:' .. id, base .. 'stopped:' .. id, base .. 'rolled:' .. id,
    base .. 'crashed:' .. id, base .. 'copy:' .. id) > 0 then return false end
  local known = flush.common.is_listed
  -- Bare jobs of one class that end in one call ask it once.
  if known[flush.class] == nil then known[flush.class] = may_be_listed(base, id, flush.class) end
  return not known[flush.class]
end

-- record: writes results, feedback, retries and counters of one flush in one step, after the outgoing entries. Also as
-- `records`. For the arguments see RecordCall in Functions/Record.swift; besides:
--   watermark        '' leaves it
--   project_answers  see change_block
--   answers          first attempts of a fan-out that this flush reports; see judge_message
--   bad_answers, bad_answer   0 and ''; only older workers say more, and it does not count
--   indexes          indexes of the results, a JSON array
--   letters          a status for each result (s f u c x), in upper case when its object is wanted
--   objects          the wanted objects as one JSON array, each with `i` first; '' for none
-- After the arguments stand, as often as the arguments of these names say:
--   retries          index, due, 1 = waits for the probe, "attempts|first_ms|dup|recipient"
--   feedback         index, kind, recipient, action, replacement, error
--   refused_rates    "<kind>:<recipient>", until when no send to it begins
-- and optional names, each with its value: `subscribed`, see count_subscribed; `errors`, see count_errors; `flagged`, see
-- count_flagged; `prints`, see index_results; `attempts`, see judge_guards; `refusals`, `refused_detail`, see
-- judge_message; `untried` 1: every result has 0 attempts; `refusal`, `refused`, `credential`, see weigh_refusals;
-- `accepted`, see prove_credential. `common`: see new_common.
-- Returns one of these:
--   'ok'             also with `watermark` and `wait_ms` (see raise_watermark), `paused` and `reason` (see judge_guards)
--   'stale'          another worker holds the batch; nothing was written: send the results again as late
--   'gone'           the job is over
function record(base, args, common)
  local id, n, epoch, worker, watermark, finish, late, hold_ms, block_reason, project_answers, answers, bad_answers,
    bad_answer, indexes, letters, objects, retries, feedback, number, all_sent, refused_rates, worker_clock =
    unpack(args, 1, 22)
  if common.over_ids[id] then return 'gone' end
  refuse_stuck(id)
  local spec, is_late = parts.read_spec(base, id), late == '1'
  if not spec then return record_of_none(base, id, n, worker, is_late) end
  -- These are facts of an earlier job of the same id.
  if is_late and tonumber(epoch) < (tonumber(spec.born) or 0) then return 'gone' end
  local batch = base .. 'b:' .. id .. '/' .. n
  local holder = parts.read_batch(batch)
  local owned = not is_late and holder.epoch == epoch and holder.owner == worker
  local flush = { common = common, spec = spec, batch = batch, holder = holder, owned = owned, class = spec.class,
    ending = spec.ending, crashes = holder.crashes, indexes = cjson.decode(indexes), job = {}, counts = {}, fresh = 0,
    old = false, marks = {}, now = false, first_time = owned and tonumber(number) > tonumber(holder.call or '0') }
  function flush.now()
    common.clock = common.clock or project_ms(base, tonumber(worker_clock))
    return common.clock
  end
  if not owned and not is_late then return 'stale' end
  -- Redis came back with a state before the batch's claim: the worker that claims it must look for results.
  if is_late and tonumber(n) and tonumber(n) * BATCH >= tonumber(spec.next or '0') then
    write('HSETNX', base .. 'rolled:' .. id, n, '0')
  end
  local more = pairs_to_map(args, 23 + 4 * tonumber(retries) + 6 * tonumber(feedback) + 2 * tonumber(refused_rates))
  -- A plain call has results only. Any other may queue, block or stop jobs, which changes `is_listed`.
  local is_plain = not is_late and retries == '0' and block_reason == '' and project_answers == '0'
    and not more.refusal and spec.class ~= BROADCAST
  if not is_plain then common.is_listed = {} end
  local ends_bare = is_plain and is_bare(base, id, n, flush)
  flush.fresh, flush.counts, flush.old, flush.marks =
    parts.look_up_results(base, id, tonumber(spec.total), flush.indexes, letters)
  local changes_job = #flush.indexes > 0 or not is_plain or finish == '1' or all_sent == '1'
  if changes_job then flush.job = parts.read_job(base, id) end
  local entry = parts.write_results(base, id, letters, objects, flush)
  local at = parts.write_feedback(base, id, args, 23 + 4 * tonumber(retries), tonumber(feedback), flush)
  for _ = 1, tonumber(refused_rates) do
    local recipient, until_ms = unpack(args, at, at + 1)
    if flush.first_time then hold_recipient(base, recipient, tonumber(until_ms), flush.now()) end
    at = at + 2
  end
  flush.errors, flush.flagged = parts.count_new(more, letters, flush.old)
  if entry and more.prints then parts.index_results(base, entry, { more.prints }) end
  if more.subscribed then count_subscribed(base, more.subscribed) end
  if more.accepted then refusals.prove_credential(base, more.accepted) end
  if ends_bare and not more.untried then
    end_single(base, id, n, flush)
  else
    make_flush(base, id, n, flush, { watermark = watermark, finish = finish == '1', hold_ms = tonumber(hold_ms),
      block_reason = block_reason, project_answers = project_answers, answers = tonumber(answers),
      refusals = more.refusals, refused_detail = more.refused_detail, retries = tonumber(retries), number = number,
      all_sent = all_sent == '1', attempts = more.attempts or '', is_untried = more.untried == '1',
      refusal = more.refusal, refused = more.refused, credential = more.credential }, args, 23)
  end
  if not flush.guarded then return 'ok' end
  local reply = { 'outcome', 'ok' }
  for _, value in ipairs(flush.guarded) do reply[#reply + 1] = value end
  return reply
end

-- Ends the one-recipient jobs of all flushes of one call, lets the recipients of compact jobs wait, and writes the
-- project's totals.
function finish_records(base, common)
  if common.over or common.forgotten then
    local writes, fresh, retried = {}, 0, 0
    step = {}
    if common.finished then list_finished(base, common.finished.all) end
    local finished = step
    step = nil
    for worker, ids in pairs(common.forgotten or {}) do
      writes[#writes + 1] = { 'HDEL', base .. 'compact:' .. worker, unpack(ids) }
      writes[#writes + 1] = { 'HDEL', base .. 'compact', unpack(ids) }
    end
    if common.waiting then
      retried = #common.waiting.ids
      writes[#writes + 1] = { 'ZADD', base .. DUE_RETRY, unpack(common.waiting.due) }
      writes[#writes + 1] = { 'SADD', base .. 'jobs_open', unpack(common.waiting.ids) }
    end
    for worker, names in pairs(common.over or {}) do writes[#writes + 1] = { 'over', base, worker, unpack(names) } end
    for _, count in pairs(common.over_counts) do fresh = fresh + count end
    for _, change in ipairs(finished) do writes[#writes + 1] = change end
    commit_counted(base, '', writes, common, common.over_counts, retried, fresh, common.over_flagged)
  end
  make_due(base)
end

end
