-- Guards of a job: rate, canary and send window delay its sends; canary and stop conditions pause it, and so does a
-- message that FCM refuses, which needs no field of the job. The spec of a job with guards has `guarded` = 1. Sends begin
-- below watermarks, so every guard works by the watermarks that it allows.
--
-- Fields of spec:<id>, besides the job's own rate, canary, canary_wait_ms, stop_if and send_window:
--   rate_have rate_at   first attempts that may be allowed now, and when they were counted (the project's time)
--   canary_held         1: the canary had its first attempts, and no other recipient is sent to; retries continue.
--                       2: that came while the job was paused or parked; it is 1 once the job continues
--   canary_until        when the job continues without an operator (the project's time), if it has canary_wait_ms
--   canary_over         1: the job continues after its canary
--   pausing             the flush that paused the job, "<batch> <number>", with the guard and the reason that it answered;
--                       of a job without guards, too
--   sample              a letter for each of the last 1,000 first attempts; see FirstAttempt.swift
--   opens closes        the next span of the send window, Unix ms, and its reason while it is closed, `window_reason`
-- Keys after the base:
--   later               zset: jobs that wait for their rate, their window or the end of their canary's pause, by when
--   closed_windows      set: jobs whose window has closed; a worker computes the next span

local defer_closed, first_watermark, raise_watermark, spend_rate, defer_waiting, hold_due, judge_guards,
  apply_later, end_canary, set_window
do

local GUARD_FIELDS = { 'rate', 'rate_have', 'rate_at', 'canary', 'canary_wait_ms', 'canary_held', 'canary_until',
  'canary_over', 'stop_if', 'sample', 'pausing', 'pausing_guard', 'pausing_reason', 'send_window', 'opens', 'closes',
  'window_reason' }

-- The guards of a job, read once for each of its specs; nil for a job without guards. A job that is ending sends nothing.
function read_guards(base, id, spec)
  if not spec.guarded or spec.ending then return nil end
  if not spec.guards then spec.guards = read_fields(base .. 'spec:' .. id, GUARD_FIELDS) end
  return spec.guards
end

-- The number of recipients in the canary; nil when the job has none, or continues after it.
local function canary_limit(guards, total)
  if not guards.canary or guards.canary_over then return nil end
  local count, sign = string.match(guards.canary, '^([%d.]+)(%%?)$')
  count = tonumber(count)
  -- Shares are tenths of a percent: whole numbers, whose product is exact.
  if sign == '%' then count = math.ceil(math.floor(count * 10 + 0.5) * total / 1000) end
  return count < total and count or nil
end

-- When the closed window opens next, Unix ms; nil while it is open. Also whether a worker has to compute the next span.
local function closed_until(guards, wall)
  if not guards.send_window then return nil end
  local opens, closes = tonumber(guards.opens) or 0, tonumber(guards.closes) or 0
  if wall >= closes then return wall + 1000, true end
  return wall < opens and opens or nil
end

-- The rate that counts, first attempts a second, and the most that may be allowed at once. As with the quota, no 60 s
-- exceed the rate: permits come at 98.5 % of it, and a quarter of a second's are kept.
local function pace_of_rate(base, guards)
  local quota = tonumber(redis.call('HGET', base .. 'ctl', 'quota')) or math.huge
  local rate = 0.985 * math.min(tonumber(guards.rate), quota) / 60
  return rate, math.max(1, rate / 4)
end

-- Writes into the job's hash that its rate holds it, or that the quota does, which is lower. Other reasons stay. Part of
-- a step. `waits`: the job has no slot; one that sends shows a lower quota only.
local function show_rate(base, id, guards, waits)
  local quota = tonumber(redis.call('HGET', base .. 'ctl', 'quota')) or math.huge
  local is_cut = tonumber(guards.rate) > quota
  local reason = 'rate: ' .. guards.rate .. ' a minute'
  if is_cut then reason = reason .. ", cut to the project's quota of " .. int(quota) end
  local known = redis.call('HGET', base .. 'job:' .. id, 'reason')
  local may_write = known and string.find(known, '^rate: ') or not known and (waits or is_cut)
  if may_write and known ~= reason then write('HSET', base .. 'job:' .. id, 'reason', reason) end
end

-- First attempts that may be allowed now, the ms until there is one, the most that there can be, and the rate a second.
local function refill_rate(base, guards, now)
  local rate, cap = pace_of_rate(base, guards)
  local have, at = tonumber(guards.rate_have) or cap, tonumber(guards.rate_at) or now
  have = math.min(cap, have + math.max(0, now - at) * rate / 1000)
  local wait = have >= 1 and 0 or math.ceil((1 - have) * 1000 / rate)
  guards.rate_have, guards.rate_at = have, now
  return have, wait, cap, rate
end

-- Takes first attempts from the rate. Part of the step that allows them.
function spend_rate(base, id, guards, count)
  if not guards.rate or count <= 0 then return end
  guards.rate_have = guards.rate_have - count
  write('HSET', base .. 'spec:' .. id, 'rate_have', string.format('%.6f', guards.rate_have), 'rate_at',
    int(guards.rate_at))
end

-- Takes a job out of its queue until a time of the project; nil: until something else queues it again. Part of a step.
-- `reason`: for the job's hash; nil leaves the hash alone.
local function defer(base, id, spec, due, reason)
  dequeue(base, spec)
  release_slot(base, id)
  -- A job that waits after its canary may be in the list for another reason: the earlier time counts.
  if due then write('ZADD', base .. 'later', 'LT', int(due), id) end
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'waiting' or state == 'active' or (reason and state == 'retrying') then
    write('HSET', job, 'state', 'waiting')
    if reason then write('HSET', job, 'reason', reason) end
  end
end

-- Defers a job whose window is closed. Part of a step. Returns whether it did.
function defer_closed(base, id, spec, now)
  local guards, wall = read_guards(base, id, spec), wall_ms()
  local opens, is_unknown = nil, nil
  if guards then opens, is_unknown = closed_until(guards, wall) end
  if not opens then return false end
  if is_unknown then write('SADD', base .. 'closed_windows', id) end
  defer(base, id, spec, now + opens - wall, not is_unknown and guards.window_reason or nil)
  return true
end

-- Defers a job that has used its rate up. Part of a step. The reason stays: its rate decides when the job ends.
local function defer_for_rate(base, id, spec, guards, due)
  defer(base, id, spec, due)
  show_rate(base, id, guards, true)
end

-- Defers a queued or active job that may not begin a send now. Returns whether it did.
-- `is_active`: the job holds the slot, which it keeps while no other fan-out waits for it.
function defer_waiting(base, id, spec, now, is_active)
  local guards = read_guards(base, id, spec)
  if not guards then return false end
  if in_step(base, id, defer_closed, base, id, spec, now) then return true end
  local limit = canary_limit(guards, tonumber(spec.total))
  if guards.canary_held or (limit and not is_active and not guards.rate and tonumber(spec.next) >= limit
    and redis.call('LLEN', base .. 'orphans:' .. id) == 0) then
    in_step(base, id, defer, base, id, spec)
    return true
  end
  if not guards.rate then return false end
  local have, wait, cap = refill_rate(base, guards, now)
  if wait == 0 or (is_active and redis.call('ZCARD', base .. 'queue') == 0) then return false end
  -- Until it may send a quarter of a second's again: each turn costs the others some time.
  in_step(base, id, defer_for_rate, base, id, spec, guards, now + math.ceil(wait * (cap - have) / (1 - have)))
  return true
end

-- How many batches of a job with a rate may be in their first pass: what two seconds need, and one more.
local function most_held(base, guards)
  return 1 + math.ceil(2 * pace_of_rate(base, guards) / BATCH)
end

-- The watermark of a new batch; nil when none of its sends may begin: the job was deferred, or waits where it is.
function first_watermark(plan, id, spec, from, count)
  -- Nothing of it is sent: its next holder must not doubt a recipient.
  if spec.ending then return '0' end
  local base, guards = plan.base, read_guards(plan.base, id, spec)
  if not guards then return plan.window end
  if defer_waiting(base, id, spec, plan.now, needs_slot(spec.class)) then return nil end
  local most = math.min(tonumber(plan.window), count)
  local limit = canary_limit(guards, tonumber(spec.total))
  if limit then most = math.min(most, limit - from) end
  if most > 0 and guards.rate then
    local have, _, cap = refill_rate(base, guards, plan.now)
    -- Batches that are held come first: they ask for less, and without an end each would get a recipient at a time.
    local held = tonumber(spec.next) / BATCH - (tonumber(spec.passed) or 0)
    if needs_slot(spec.class) and (have < math.min(cap, most) or held >= most_held(base, guards)) then most = 0 end
    most = math.min(most, math.floor(have))
  end
  return most > 0 and int(most) or nil
end

-- The watermark that a batch gets when its holder asks for one, and after how many ms it may ask again. Part of the step of
-- its flush. `batch`: `from` (nil for a retry), its `watermark`; `now`: a function that returns the project's time.
function raise_watermark(base, id, spec, batch, asked, now)
  local known = tonumber(batch.watermark)
  if asked <= known then return known, 0 end
  if spec.paused or spec.parked then return known, 1000 end
  local guards = read_guards(base, id, spec)
  if not guards then return asked, 0 end
  if closed_until(guards, wall_ms()) then return known, 1000 end
  if not batch.from then return asked, 0 end
  if guards.canary_held then return known, 1000 end
  local most, wait, limit = asked, 100, canary_limit(guards, tonumber(spec.total))
  if limit then most = math.min(most, limit - tonumber(batch.from)) end
  if guards.rate then
    local have, next_ms, cap, rate = refill_rate(base, guards, now())
    most = math.min(most, known + math.floor(have))
    show_rate(base, id, guards)
    wait = math.max(next_ms, math.min(250, math.ceil(cap / 2 * 1000 / rate)), 10)
  end
  if most <= known then return known, wait end
  spend_rate(base, id, guards, most - known)
  return most, most < asked and wait or 0
end

-- Moves a due recipient of a job whose window is closed to held:<id>. Returns whether it did.
function hold_due(base, set, member, due, id, spec, now)
  if not spec.guarded then return false end
  -- Once for all recipients of a call.
  if spec.is_closed == nil then spec.is_closed = in_step(base, id, defer_closed, base, id, spec, now) end
  if not spec.is_closed then return false end
  write('ZADD', base .. 'held:' .. id, due, member)
  write('ZREM', base .. set, member)
  return true
end

-- The letters of a measure of stop_if in `sample`.
local MEASURES = { failed = '%u', unknown = 'u', unregistered = 'A', invalid_argument = 'B', sender_id_mismatch = 'C',
  third_party_auth_error = 'D', unspecified_error = 'H' }

-- A number of tenths of a percent as a text, such as 5% or 0.5%.
local function share_text(tenths)
  local whole, tenth = math.floor(tenths / 10), tenths % 10
  return int(whole) .. (tenth > 0 and '.' .. int(tenth) or '') .. '%'
end

-- The reason of the first condition that holds for a sample; nil when none does.
local function broken_condition(conditions, sample)
  for measure, whole, tenth in string.gmatch(conditions, '([%l_]+)>(%d+)%.?(%d?)%%') do
    local limit = 10 * tonumber(whole) + (tonumber(tenth) or 0)
    local _, count = string.gsub(sample, MEASURES[measure] or '^$', '')
    if count * 1000 > limit * #sample then
      -- Rounded up, so that it is always above the limit.
      return 'stop_if: ' .. measure .. ' ' .. share_text(math.ceil(count * 1000 / #sample)) .. ' of ' .. int(#sample)
        .. ', more than ' .. share_text(limit)
    end
  end
  return nil
end

-- Shows that a job is paused, and stops its batches. Part of the step of a flush.
local function pause_by_guard(base, id, flush, reason)
  write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', reason)
  pauses.add(base, id, reason)
  flush.job.state, flush.job.reason = 'paused', reason
  release_block(base, id)
  dequeue(base, flush.spec)
  release_slot(base, id)
  add_mark(base, 'pause', id .. ': ' .. reason)
  -- Workers stop batches up to this epoch; later ones were claimed after a resume.
  append_news(base, 'stop', id, next_epoch(base, flush.now()))
end

-- Holds a job after its canary. Part of the step of a flush.
local function hold_canary(base, id, flush, guards)
  local is_stopped = flush.spec.paused or flush.spec.parked
  guards.canary_held = is_stopped and '2' or '1'
  if not is_stopped then pause_by_guard(base, id, flush, 'canary') end
  write('HSET', base .. 'spec:' .. id, 'canary_held', guards.canary_held)
  if guards.canary_wait_ms then
    local due = int(flush.now() + tonumber(guards.canary_wait_ms))
    write('HSET', base .. 'spec:' .. id, 'canary_until', due)
    write('ZADD', base .. 'later', 'LT', due, id)
  end
  return not is_stopped
end

-- Stops a job by its stop_if, or for its message. Part of the step of a flush. `has_tried`: its canary has ended, too:
-- the job continues after it once it is resumed. Returns whether the job was not paused before.
local function stop_job(base, id, flush, guards, reason, has_tried)
  local spec, was_paused = flush.spec, flush.spec.paused
  if has_tried then
    write('HSET', base .. 'spec:' .. id, 'canary_over', '1')
    guards.canary_over = '1'
  end
  if was_paused then
    write('HSET', base .. 'job:' .. id, 'reason', reason)
    pauses.add(base, id, reason)
    return false
  end
  write('HSET', base .. 'spec:' .. id, 'paused', '1')
  pause_by_guard(base, id, flush, reason)
  spec.paused = '1'
  return true
end

-- Adds the first attempts of a flush to the sample; returns it.
local function add_sample(base, id, flush, guards, letters)
  local sample = guards.sample or ''
  if not guards.stop_if or letters == '' or not flush.first_time then return sample end
  sample = string.sub(sample .. letters, -1000)
  write('HSET', base .. 'spec:' .. id, 'sample', sample)
  return sample
end

-- The guard that this flush calls for, and its reason; nil for none. The message comes first: it was at fault at an attempt
-- within the flush, the others are judged at its end.
local function find_guard(flush, guards, sample, has_tried)
  local spec = flush.spec
  if not spec.parked then
    if flush.refused then return 'message', flush.refused end
    local is_due = guards.stop_if and sample ~= '' and (#sample >= 1000 or has_tried)
    local reason = is_due and broken_condition(guards.stop_if, sample)
    if reason then return 'stop_if', reason end
  end
  if has_tried then return 'canary', 'canary' end
  return nil
end

-- Adds the first attempts of a flush to the sample, and pauses the job when its message is refused, a condition holds or the
-- canary has ended. Part of the flush's step. `letters`: of the flush; `tried`: recipients of the job that have their
-- result, or were sent to and wait: while the canary lasts, all of them belong to it. `flush.refused`: see judge_message.
-- Returns the guard that paused the job, and the reason; nil for none. A repeated call returns the same.
function judge_guards(base, id, flush, letters, tried, name)
  local spec, key = flush.spec, base .. 'spec:' .. id
  if spec.ending or not (spec.guarded or spec.judged or flush.refused) then return nil end
  local guards = read_guards(base, id, spec) or read_fields(key, { 'pausing', 'pausing_guard', 'pausing_reason' })
  if flush.owned and not flush.first_time and guards.pausing == name then
    return guards.pausing_guard, guards.pausing_reason
  end
  local sample = add_sample(base, id, flush, guards, letters)
  if guards.canary_held then return nil end
  local limit = canary_limit(guards, tonumber(spec.total))
  local has_tried = limit and tried >= limit
  -- Of a job that does not run only the end of its canary matters: nothing reports it later.
  if (spec.paused or spec.parked) and not has_tried then return nil end
  local guard, reason = find_guard(flush, guards, sample, has_tried)
  if guard == 'message' then write('HSET', key, 'judged', '1', 'refusals', '') end
  local pauses = guard == 'canary' and hold_canary(base, id, flush, guards)
    or guard and guard ~= 'canary' and stop_job(base, id, flush, guards, reason, has_tried)
  if not pauses then return nil end
  write('HSET', key, 'pausing', name, 'pausing_guard', guard, 'pausing_reason', reason)
  return guard, reason
end

-- Continues a job after its canary. Part of a step.
function end_canary(base, id, spec)
  local guards = read_guards(base, id, spec)
  write('HDEL', base .. 'spec:' .. id, 'canary_held', 'canary_until', 'sample')
  write('HSET', base .. 'spec:' .. id, 'canary_over', '1')
  write('ZREM', base .. 'later', id)
  -- What follows in this step reads the decided values.
  guards.canary_held, guards.canary_until, guards.canary_over, guards.sample = nil, nil, '1', nil
end

-- Queues a job whose wait is over. Part of a step.
local function end_wait(base, id, spec, guards, now)
  local until_ms = guards.canary_held and tonumber(guards.canary_until)
  local goes_on = until_ms and until_ms <= now
  if goes_on then
    end_canary(base, id, spec)
  elseif until_ms then
    write('ZADD', base .. 'later', int(until_ms), id)
  end
  if spec.paused or spec.parked then return end
  if defer_closed(base, id, spec, now) then
    if goes_on then
      -- The hash shows the canary, which the window leaves.
      pauses.remove(base, id)
      write('HSET', base .. 'job:' .. id, 'state', 'waiting', 'reason', guards.window_reason or 'send_window: closed')
    end
    return
  end
  restore(base, id, spec, now)
  if redis.call('ZSCORE', base .. 'sched', id) then return end
  local state, reason = unpack(redis.call('HMGET', base .. 'job:' .. id, 'state', 'reason'))
  if goes_on or (state == 'waiting' and reason and reason == guards.window_reason) then
    write_free_state(base, id, spec)
  end
end

-- Queues the jobs whose wait is over, a few at each call: many windows open at the same time.
function apply_later(base, now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'later', '-inf', int(now), 'LIMIT', 0, 8)) do
    local spec = load_spec(base, id)
    if not stuck_jobs[id] then in_step(base, id, function()
      write('ZREM', base .. 'later', id)
      local guards = spec and read_guards(base, id, spec)
      if guards then end_wait(base, id, spec, guards, now) end
    end) end
  end
end

local RUNS = { waiting = true, active = true, retrying = true }

-- Stores the next span of a window. Part of a step.
local function store_window(base, id, opens, closes, reason)
  write('SREM', base .. 'closed_windows', id)
  local spec = load_spec(base, id)
  if not spec or not spec.guarded then return 'gone' end
  write('HSET', base .. 'spec:' .. id, 'opens', opens, 'closes', closes, 'window_reason', reason)
  if not redis.call('ZSCORE', base .. 'later', id) then return 'ok' end
  local job, now, wall = base .. 'job:' .. id, project_ms(base)
  -- The pause after the canary may end before the window opens.
  local canary_until = tonumber((redis.call('HGET', base .. 'spec:' .. id, 'canary_until'))) or math.huge
  write('ZADD', base .. 'later', int(math.min(canary_until, math.max(now, now + tonumber(opens) - wall))), id)
  if tonumber(opens) > wall and RUNS[redis.call('HGET', job, 'state')] then
    write('HSET', job, 'state', 'waiting', 'reason', reason)
  end
  return 'ok'
end

-- set_window: stores the next span in which a job's send window is open. Returns 'ok', or 'gone' when the job is over.
function set_window(base, args)
  local id, opens, closes, reason = unpack(args, 1, 4)
  return (in_step(base, id, store_window, base, id, opens, closes, reason))
end

end
