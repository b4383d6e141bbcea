-- claim: work, permits and news for a worker.

local unacknowledged, claim, spec
do

-- Batches of ending jobs that a claim brings, unless the worker says otherwise.
local MOST_ENDINGS = 8

-- Entries of a stream that a group has not acknowledged. After a deletion the lag is unknown, and every entry counts.
function unacknowledged(stream, group)
  return group['pending'] + (tonumber(group['lag'] or nil) or redis.call('XLEN', stream))
end

-- The share of Redis' memory limit that is used, 0 without a limit; and how Redis makes room at the limit.
local function read_memory()
  local info = redis.call('INFO', 'memory')
  local most = tonumber(string.match(info, '\nmaxmemory:(%d+)')) or 0
  local used = tonumber(string.match(info, '\nused_memory:(%d+)')) or 0
  return most > 0 and used / most or 0, string.match(info, '\nmaxmemory_policy:([%w-]+)') or 'noeviction'
end

-- Why no worker may claim more: a stream with more than `limit` unread entries, `memory` (nearly full), or `eviction`
-- (a policy that may drop keys); '' for none. Measured five times a second; lasts until it falls to four fifths.
local function measure_pressure(base, limit, now)
  local looked, was = unpack(redis.call('HMGET', base .. 'ctl', 'looked', 'pressure'))
  looked = tonumber(looked) or 0
  if now >= looked and now < looked + 200 then return was or '' end
  local why = ''
  local used, policy = read_memory()
  if used > (was == 'memory' and 0.75 or 0.8) then why = 'memory' end
  if policy ~= 'noeviction' then why = 'eviction' end
  for _, stream in ipairs({ 'results', 'feedback', 'dead', 'upstream' }) do
    if redis.call('EXISTS', base .. stream) == 1 then
      for _, group in ipairs(redis.call('XINFO', 'GROUPS', base .. stream)) do
        local behind = unacknowledged(base .. stream, pairs_to_map(group))
        if behind > limit * (was == stream and 0.8 or 1) then why = stream end
      end
    end
  end
  redis.call('HSET', base .. 'ctl', 'looked', int(now))
  compact.show_waiting(base)
  if why == '' then
    redis.call('HDEL', base .. 'ctl', 'pressure')
  else
    redis.call('HSET', base .. 'ctl', 'pressure', why)
  end
  return why
end

-- `plan`: what one call may still claim, and has claimed. `claims` grows to at most `most` batches; `wanted`,
-- `wanted_single` and `wanted_managed` (recipients) and `budget` (retries) go down with what the claims hold.

local function has_room(plan, wanted)
  return #plan.claims < plan.most and wanted > 0
end

-- Adds a claim of `count` recipients. `room`: the room that they take.
local function add_claim(plan, taken, room, count)
  plan.claims[#plan.claims + 1] = taken
  plan[room] = plan[room] - count
end

local function is_sendable(spec)
  return spec and not spec.paused and not spec.parked and not spec.ending
end

-- Ends jobs that have expired, and queues jobs whose time to begin has come.
local function apply_due_times(base, now, wall)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'expiring', '-inf', int(wall), 'LIMIT', 0, 100)) do
    if not stuck_jobs[id] then
      end_job(base, id, 'expired', now)
      write('ZREM', base .. 'expiring', id)
    end
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'sched', '-inf', int(wall), 'LIMIT', 0, 100)) do
    local spec = load_spec(base, id)
    if not stuck_jobs[id] then in_step(base, id, function()
      write('ZREM', base .. 'sched', id)
      if is_sendable(spec) then
        write('HSET', base .. 'job:' .. id, 'state', 'waiting')
        if redis.call('SISMEMBER', base .. 'copying', id) == 0 then enqueue(base, spec) end
      end
    end) end
  end
end

-- Claims at most `limit` batches of jobs that are ending, one of each job in turn. Nothing of them is sent, so they take no
-- room of other work. Their results take memory: the last tenth is kept for the results of what workers hold. A job whose
-- last recipients other workers hold is looked at later.
local function claim_endings(plan, limit)
  local base, now = plan.base, plan.now
  local due = redis.call('ZRANGEBYSCORE', base .. 'ending', '-inf', int(now), 'LIMIT', 0, 8)
  if limit == 0 or #due == 0 or read_memory() > 0.9 then return end
  while #due > 0 do
    local unfinished = {}
    for _, id in ipairs(due) do
      if #plan.claims >= limit then return end
      local taken = not stuck_jobs[id] and claim_ending(plan, id)
      if taken then
        plan.claims[#plan.claims + 1] = taken
        unfinished[#unfinished + 1] = id
      elseif redis.call('EXISTS', base .. 'spec:' .. id) == 1 then
        write('ZADD', base .. 'ending', int(now + 500), id)
      end
    end
    due = unfinished
  end
end

-- Moves a thousand held due times of one resumed job back; see restore_held.
local function restore_one(base, now)
  local id = redis.call('SRANDMEMBER', base .. 'restoring')
  if id and not stuck_jobs[id] then
    local spec = load_spec(base, id)
    if spec and not spec.paused and not spec.parked and not in_step(base, id, defer_closed, base, id, spec, now) then
      in_step(base, id, restore_held, base, id, spec)
    else
      write('SREM', base .. 'restoring', id)
    end
  end
end

-- Bounded: many orphans of jobs that are over must not block the server.
local function claim_orphans(plan)
  for _ = 1, 100 do
    if not has_room(plan, plan.wanted_single + plan.wanted) then break end
    local taken, count = claim_orphan(plan, plan.base .. 'orphans')
    if taken == false then break end
    if taken then add_claim(plan, taken, 'wanted', count) end
  end
end

-- Claims at most `limit` recipients that are due in a set; returns their number.
local function claim_set(plan, set, limit)
  return claim_due(plan, set, math.min(BATCH, limit), plan.most - #plan.claims)
end

-- The budget of retries is for single recipients first. It counts requests: where recipients share a request, a claim
-- has about as many requests as jobs.
local function claim_due_sends(plan)
  if has_room(plan, plan.wanted_single) then
    plan.wanted_single = plan.wanted_single - claim_set(plan, DUE_UNSENT, plan.wanted_single)
  end
  local function allowed(wanted) return plan.shares_requests and wanted or math.min(wanted, plan.budget) end
  if has_room(plan, plan.wanted_single) and plan.budget > 0 then
    local before = #plan.claims
    local given = claim_set(plan, DUE_RETRY, allowed(plan.wanted_single))
    plan.budget = plan.budget - (plan.shares_requests and #plan.claims - before or given)
    plan.wanted_single = plan.wanted_single - given
  end
  if has_room(plan, plan.wanted) and plan.budget > 0 then
    plan.wanted = plan.wanted - claim_set(plan, DUE_FANOUT_RETRY, allowed(plan.wanted))
  end
end

-- Jobs of one batch, and sends to device groups.
local function claim_queues(plan)
  local base = plan.base
  for _, queue in ipairs({ 'singles', 'groups' }) do
    local skipped = 0
    for _ = 1, 2 * plan.most do
      if not has_room(plan, plan.wanted_single) then break end
      if queue == 'groups' and redis.call('SCARD', base .. 'groups_on') >= MOST_GROUPS then break end
      local head = unpack(redis.call('ZRANGE', base .. queue, skipped, skipped))
      if not head then break end
      local id, taken, count = job_of_member(head), nil, nil
      local spec, is_skipped = load_spec(base, id), stuck_jobs[id] or refusals.is_spared(plan, id)
      if not is_skipped and is_sendable(spec) then
        taken, count = claim_first_pass(plan, id, spec, base .. queue, head)
      end
      if is_skipped or stuck_jobs[id] then
        skipped = skipped + 1
      elseif taken then
        add_claim(plan, taken, 'wanted_single', count)
      else
        write('ZREM', base .. queue, head)
      end
    end
  end
end

-- Claims the job of one batch that came last as the probe of a blocked project, unless FCM has refused it. Returns whether
-- it did.
local function claim_newest(plan)
  local queue = plan.base .. 'singles'
  local head = unpack(redis.call('ZRANGE', queue, -1, -1))
  local id = head and job_of_member(head)
  if not id or not has_room(plan, plan.wanted_single) or refusals.has_refused(plan.base, id) then return false end
  local spec, taken, count = load_spec(plan.base, id), nil, nil
  if not stuck_jobs[id] and is_sendable(spec) then
    plan.is_probe = true
    taken, count = claim_first_pass(plan, id, spec, queue, head)
    plan.is_probe = false
  end
  if taken then add_claim(plan, taken, 'wanted_single', count) end
  return taken and true or false
end

-- Jobs without a message, first the jobs whose recipients are due.
local function claim_managed(plan)
  local base = plan.base
  if has_room(plan, plan.wanted_managed) then
    plan.wanted_managed = plan.wanted_managed - claim_set(plan, DUE_MANAGEMENT, plan.wanted_managed)
  end
  for _, head in ipairs(redis.call('ZRANGE', base .. 'managed', 0, 2 * plan.most)) do
    local id = job_of_member(head)
    while not stuck_jobs[id] and has_room(plan, plan.wanted_managed) do
      local spec, taken, count = load_spec(base, id), nil, nil
      if is_sendable(spec) then taken, count = claim_first_pass(plan, id, spec) end
      if not taken then
        write('ZREM', base .. 'managed', head)
        break
      end
      add_claim(plan, taken, 'wanted_managed', count)
    end
  end
end

-- The fan-outs that hold the slot.
local function claim_active(plan)
  local base = plan.base
  for _, id in ipairs(redis.call('HKEYS', base .. 'active')) do
    for _ = 1, plan.most do
      if not has_room(plan, plan.wanted) then break end
      local spec = load_spec(base, id)
      if stuck_jobs[id] or refusals.is_spared(plan, id) or not is_sendable(spec) then break end
      local taken, count = claim_orphan(plan, base .. 'orphans:' .. id)
      if taken == false then
        if spec.needs_resend then
          taken, count = claim_resend(plan, id, spec)
        else
          taken, count = claim_first_pass(plan, id, spec)
        end
        if not taken then break end
      end
      if taken then add_claim(plan, taken, 'wanted', count) end
    end
  end
end

-- The first score of a zset; infinite when it is empty.
local function first_score(key)
  local _, score = unpack(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES'))
  return tonumber(score) or math.huge
end

-- When the next recipient or job is due or expires, or the slot is free; 0 when nothing waits.
local function next_due_ms(base, now, wall)
  local by_wall = math.min(first_score(base .. 'sched'), first_score(base .. 'expiring'))
  local next_due = math.min(by_wall + now - wall, first_score(base .. 'later'))
  for _, set in ipairs(DUE_SETS) do next_due = math.min(next_due, first_score(base .. set)) end
  for _, value in ipairs(redis.call('HVALS', base .. 'active')) do
    next_due = math.min(next_due, tonumber(string.match(value, '|(%d+)$')) or math.huge)
  end
  return next_due == math.huge and 0 or next_due
end

-- Adds kind, name, value of a stream's entries after `cursor` up to `latest` to `news`. Returns the new cursor.
local function read_news(base, stream, latest, cursor, news)
  if not latest or latest == cursor then return cursor end
  -- The cursor is beyond the last entry: Redis came back with an older state. All entries are read again, harmlessly.
  if is_earlier(latest, cursor) then cursor = '0' end
  for _, entry in ipairs(redis.call('XRANGE', base .. stream, '(' .. cursor, '+', 'COUNT', 500)) do
    local id, fields = unpack(entry)
    local event, total, ending = pairs_to_map(fields), nil, nil
    cursor = id
    if event.kind == 'end' then
      total, ending = unpack(redis.call('HMGET', base .. 'spec:' .. event.name, 'total', 'ending'))
    end
    local was_parked = event.kind == 'parked' and redis.call('HGET', base .. 'spec:' .. event.name, 'parked') ~= '1'
    -- The end of an earlier job of the same name concerns no worker, nor does a job that was parked and replayed.
    if (ending or not total) and not was_parked then
      news[#news + 1] = event.kind or 'rate'
      add_pair(news, event.name, event.value)
    end
  end
  return cursor
end

-- Claims what the project's state allows. Returns the ms until its probe; 0 when it is not blocked.
local function claim_work(plan, state)
  local base, worker, block = plan.base, plan.worker, state.block
  local probe_ms = block and math.max(1, tonumber(state.block_until) - plan.now) or 0
  if state.hold_ms > 0 or state.pause ~= '' or state.pressure ~= '' or plan.most == 0 then return probe_ms end
  if state.quarantine_worker == worker and state.grant ~= 'none' then
    if not block and state.grant ~= 'busy' and jobs.is_empty_handed(base, worker) then
      local taken = claim_orphan(plan, base .. 'suspects', state.grant or 'exclusive')
      if taken then plan.claims[#plan.claims + 1] = taken end
    end
  elseif block then
    probe_ms = refusals.claim_while_blocked(plan, state, { orphans = claim_orphans, queues = claim_queues,
      active = claim_active, due_sends = claim_due_sends, newest = claim_newest })
    claim_managed(plan)
  else
    claim_orphans(plan)
    claim_due_sends(plan)
    claim_queues(plan)
    claim_managed(plan)
    claim_active(plan)
  end
  return probe_ms
end

-- claim: work, permits to send, and news for a worker, which calls it every few milliseconds while there are jobs. The
-- order of work: jobs that are ending, batches without a holder, retries that are due, jobs of one batch, the fan-out that
-- holds the slot.
-- For the arguments and the reply see ClaimCall and ClaimReply in Functions/ClaimCall.swift; besides: `smear` 1: see
-- is_smeared; `worker_clock`: see project_ms. Then optional names, each with its value: `answers`, `refused`,
-- `retry_after`, `failing`, `span`: see apply_answers; `multicast`, `small` 1, `lapsed`: see lend; `quarantine`: see
-- quarantine.lua; `held`, `others`: see claim_while_blocked; `endings`: how many batches of ending jobs the reply may hold
-- besides.
-- Returns 'fenced' (the worker was declared dead), the error OLDLINK, or 'ok' and the values; `news`: kind, name, value
-- of each; `claims`: see new_claim; `specs`: id and spec of each claimed job of one recipient that was retried.
function claim(base, args)
  local worker, most, wanted, wanted_single, window, retries, quota, returned, permits_single, permits_fanout,
    active_fanouts, smear, backlog_limit, news_cursor, refused_cursor, wanted_managed, connection, worker_clock =
    unpack(args, 1, 18)
  if not end_rest(base, worker) then return 'fenced' end
  if not is_current(base, worker, connection) then return old_link() end
  local now, wall = project_ms(base, tonumber(worker_clock))
  local more, control, news = pairs_to_map(args, 19), read_control(base), {}
  apply_answers(base, control, now, more)
  local plan = { base = base, worker = worker, window = window, now = now, most = tonumber(most), claims = {}, specs = {},
    wanted = tonumber(wanted), wanted_single = tonumber(wanted_single), wanted_managed = tonumber(wanted_managed),
    budget = tonumber(retries), shares_requests = more.multicast ~= nil }
  apply_due_times(base, now, wall)
  apply_later(base, now)
  local block_until, block, pause, alone, known_quota, doubted, unprobed = unpack(redis.call('HMGET', base .. 'ctl',
    'block_until', 'block', 'pause', 'alone', 'quota:' .. worker, 'doubted', 'unprobed'))
  if known_quota ~= quota then
    redis.call('HSET', base .. 'ctl', 'quota:' .. worker, quota)
    control.quota = update_quota(base)
  end
  local state = { hold_ms = math.max(0, (tonumber(control.hold_until) or 0) - now), pause = pause or '', block = block,
    block_until = block_until, pressure = measure_pressure(base, tonumber(backlog_limit), now), grant = more.quarantine,
    held = tonumber(more.held), others = tonumber(more.others), unprobed = unprobed, is_probe = false }
  claim_endings(plan, tonumber(more.endings) or math.min(plan.most, MOST_ENDINGS))
  if plan.most > 0 then
    plan.most = plan.most + #plan.claims
    restore_one(base, now)
  end
  fill_slot(base, now, tonumber(active_fanouts), smear == '1', block)
  choose_quarantine_worker(base, worker, alone, state)
  local probe_ms = claim_work(plan, state)
  local waits_for_quarantine = state.quarantine_worker == worker and state.grant ~= 'none'
    and jobs.is_empty_handed(base, worker)
  local lends = state.pause == '' and state.pressure == '' and not waits_for_quarantine
  local multicast = tonumber(more.multicast)
  local permits = lend(base, control, lowest_quota(control, tonumber(quota)), now, { returned = tonumber(returned),
    single = lends and tonumber(permits_single) or 0, fanout = lends and tonumber(permits_fanout) or 0,
    multicast = multicast and (lends and multicast or 0), is_small = more.small == '1',
    lapsed = tonumber(more.lapsed) })
  write_control(base, control)
  local window_job, window = redis.call('SRANDMEMBER', base .. 'closed_windows'), nil
  if window_job then
    window = redis.call('HGET', base .. 'spec:' .. window_job, 'send_window')
    if not window then redis.call('SREM', base .. 'closed_windows', window_job) end
  end
  local said, refused = unpack(redis.call('HMGET', base .. 'ctl', 'said', 'refused'))
  news_cursor = read_news(base, 'news', said, news_cursor, news)
  refused_cursor = read_news(base, 'refused', refused, refused_cursor, news)
  local reply = { 'outcome', 'ok', 'now', int(now), 'clock_offset', int(now - wall), 'hold_ms', int(state.hold_ms),
    'probe_ms', int(probe_ms), 'block', block or '', 'next_due', int(next_due_ms(base, now, wall)),
    'copying', redis.call('SRANDMEMBER', base .. 'copying') or '', 'suspect', state.quarantine_mode,
    'closed_window_job', window_job or '', 'closed_window', window or '',
    'unfinished', int(jobs.count_open(base) + redis.call('XLEN', base .. 'jobs')),
    'permits', int(permits), 'pause', state.pause, 'pressure', state.pressure, 'news_cursor', news_cursor,
    'refused_cursor', refused_cursor, 'news', news, 'claims', plan.claims, 'specs', plan.specs }
  -- `doubted` is for workers of 0.1.0.
  if doubted then add_pair(reply, 'doubts', doubted) add_pair(reply, 'doubted', '1') end
  if state.is_probe then add_pair(reply, 'probe', '1') end
  return reply
end

-- spec: what a worker needs to send for a job; empty when the job is over.
function spec(base, args)
  local id = unpack(args, 1, 1)
  return redis.call('HGETALL', base .. 'spec:' .. id)
end

end
