
-- ---------------------------------------------------------------------------------------------------------------
-- claim, and what is asked on the way.

-- The functions that other files call. All others are local to this block: Lua allows 200 locals in the whole library.
local unblock, pressure, claim, spec
do

-- The project can be sent to again: what waited for that goes on.
function unblock(base)
  for _, id in ipairs(redis.call('SMEMBERS', base .. 'blocked')) do
    local job = base .. 'job:' .. id
    local spec = load_spec(base, id)
    if spec and not spec.paused and redis.call('HGET', job, 'state') == 'paused' then
      write('HSET', job, 'state', natural_state(base, id, spec))
      write('HDEL', job, 'reason')
    end
  end
  write('DEL', base .. 'blocked')
  write('HDEL', base .. 'ctl', 'block', 'block_until')
end

-- Why no worker may take on more of this project: its readers are too far behind, or Redis' memory is nearly full.
-- Looked at five times a second; what stopped it has to fall to four fifths before it goes on.
function pressure(base, limit, now)
  local ctl = redis.call('HMGET', base .. 'ctl', 'looked', 'pressure')
  local looked, was = tonumber(ctl[1]) or 0, ctl[2]
  if now >= looked and now < looked + 200 then return was or '' end
  local why = ''
  local info = redis.call('INFO', 'memory')
  local most = tonumber(string.match(info, '\nmaxmemory:(%d+)')) or 0
  local used = tonumber(string.match(info, '\nused_memory:(%d+)')) or 0
  if most > 0 and used > most * (was == 'memory' and 0.75 or 0.8) then why = 'memory' end
  -- Any other policy may drop what everything here rests on.
  if (string.match(info, '\nmaxmemory_policy:([%w-]+)') or 'noeviction') ~= 'noeviction' then why = 'eviction' end
  for _, stream in ipairs({ 'results', 'feedback', 'dead', 'upstream' }) do
    if redis.call('EXISTS', base .. stream) == 1 then
      for _, group in ipairs(redis.call('XINFO', 'GROUPS', base .. stream)) do
        local map = pairs_to_map(group)
        -- The lag is unknown after entries were deleted: then all that is there counts.
        local behind = map['pending'] + (tonumber(map['lag'] or nil) or redis.call('XLEN', base .. stream))
        if behind > limit * (was == stream and 0.8 or 1) then why = stream end
      end
    end
  end
  redis.call('HSET', base .. 'ctl', 'looked', int(now))
  if why == '' then
    redis.call('HDEL', base .. 'ctl', 'pressure')
  else
    redis.call('HSET', base .. 'ctl', 'pressure', why)
  end
  return why
end

-- `order`: what one claim may still give, and what it gave. `claims` grows to at most `most` batches; `wanted`,
-- `wanted_single`, `wanted_managed` and the `budget` of retries go down with what they hold.

-- Of one of the waiting sets what is due; returns how many recipients that was.
local function claim_waiting(order, set, limit)
  return claim_retries(order.base, set, limit, order.most - #order.claims, order.worker, order.window, order.now,
    order.claims)
end

-- Jobs whose time has come: to end, or to begin.
local function follow_the_time(base, now, wall)
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
      if spec and not spec.parked and not spec.paused and not spec.ending then
        write('HSET', base .. 'job:' .. id, 'state', 'waiting')
        if redis.call('SISMEMBER', base .. 'copying', id) == 0 then enqueue(base, spec) end
      end
    end) end
  end
end

-- Ending asks for nothing but room. A job whose last recipients are in others' hands is looked at again later.
local function claim_endings(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  local due = redis.call('ZRANGEBYSCORE', base .. 'ending', '-inf', int(now), 'LIMIT', 0, math.min(order.most, 8))
  for _, id in ipairs(due) do
    if #order.claims >= order.most or order.wanted_single + order.wanted <= 0 then break end
    local taken, count
    if not stuck_jobs[id] then taken, count = claim_ending(base, id, worker, window, now) end
    if taken then
      order.claims[#order.claims + 1] = taken
      order.wanted = order.wanted - count
    elseif redis.call('EXISTS', base .. 'spec:' .. id) == 1 then
      write('ZADD', base .. 'ending', int(now + 500), id)
    end
  end
end

-- A step of what a job that goes on gets back.
local function restore_one(base)
  local id = redis.call('SRANDMEMBER', base .. 'restoring')
  if id and not stuck_jobs[id] then
    local spec = load_spec(base, id)
    if spec and not spec.paused and not spec.parked then
      in_step(base, id, unhold, base, id, spec)
    else
      write('SREM', base .. 'restoring', id)
    end
  end
end

-- A suspect is run by a worker that holds nothing else; until it does, that worker is given nothing. Returns its name.
local function choose_alone(base, worker, alone)
  if alone and redis.call('HEXISTS', base .. 'leases', alone) == 0 then alone = nil end
  if redis.call('LLEN', base .. 'suspects') > 0 then
    if not alone then
      alone = worker
      redis.call('HSET', base .. 'ctl', 'alone', worker)
    end
  elseif alone == worker and redis.call('SCARD', base .. 'claims:' .. worker) == 0 then
    redis.call('HDEL', base .. 'ctl', 'alone')
    alone = nil
  end
  return alone
end

-- Claims the probe of a blocked project: one send. Its claim moves the next probe by 60 s, so there is one at a time.
-- Operations go to other APIs than sends: the block does not hold them, and none is a probe.
-- Returns the ms until the next one, 0 when nothing is left to probe with.
local function claim_probe(order)
  local base, worker, now = order.base, order.worker, order.now
  local before = #order.claims
  for _, set in ipairs(WAITING_SENDS) do
    for _ = 1, 20 do
      if #order.claims > before or redis.call('ZCOUNT', base .. set, '-inf', int(now)) == 0 then break end
      claim_retries(base, set, 1, 1, worker, '1', now, order.claims, '2')
    end
  end
  if #order.claims > before then
    write('HSET', base .. 'ctl', 'block_until', int(now + 60000))
    return 60000
  end
  unblock(base)
  return 0
end

-- Bounded: a list of orphans of jobs that are over must not hold the server.
local function claim_orphans(order)
  local base, worker, now = order.base, order.worker, order.now
  for _ = 1, 100 do
    if #order.claims >= order.most or order.wanted_single + order.wanted <= 0 then break end
    local taken, count = claim_orphan(base, base .. 'orphans', worker, now)
    if taken == false then break end
    if taken then
      order.claims[#order.claims + 1] = taken
      order.wanted = order.wanted - count
    end
  end
end

-- What was never sent is no retry, and the budget of those is for single recipients first.
local function claim_due(order)
  if #order.claims < order.most and order.wanted_single > 0 then
    local limit = math.min(BATCH, order.wanted_single)
    order.wanted_single = order.wanted_single - claim_waiting(order, 'again', limit)
  end
  if #order.claims < order.most and order.wanted_single > 0 and order.budget > 0 then
    -- The retry budget counts requests. Where recipients share a request, a claim has about as many requests as jobs.
    local limit, claims = math.min(BATCH, order.wanted_single, order.shares_requests and BATCH or order.budget), #order.claims
    local given = claim_waiting(order, 'retry', limit)
    order.budget = order.budget - (order.shares_requests and #order.claims - claims or given)
    order.wanted_single = order.wanted_single - given
  end
  if #order.claims < order.most and order.wanted > 0 and order.budget > 0 then
    local limit = math.min(BATCH, order.wanted, order.shares_requests and BATCH or order.budget)
    order.wanted = order.wanted - claim_waiting(order, 'retry_many', limit)
  end
end

-- Jobs of one batch, and sends to device groups.
local function claim_queues(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  for _, queue in ipairs({ 'singles', 'groups' }) do
    local skipped = 0
    for _ = 1, 2 * order.most do
      if #order.claims >= order.most or order.wanted_single <= 0 then break end
      if queue == 'groups' and redis.call('SCARD', base .. 'groups_on') >= MOST_GROUPS then break end
      local head = redis.call('ZRANGE', base .. queue, skipped, skipped)[1]
      if not head then break end
      local _, id = string.match(head, '^([^/]*)/(.*)$')
      local spec = load_spec(base, id)
      local taken, count
      if not stuck_jobs[id] and spec and not spec.paused and not spec.parked and not spec.ending then
        taken, count = claim_first_pass(base, id, spec, worker, window, now, base .. queue, head)
      end
      if stuck_jobs[id] then
        skipped = skipped + 1
      elseif taken then
        order.claims[#order.claims + 1] = taken
        order.wanted_single = order.wanted_single - count
      else
        write('ZREM', base .. queue, head)
      end
    end
  end
end

-- Jobs without a message: what waits first.
local function claim_managed(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  if #order.claims < order.most and order.wanted_managed > 0 then
    local limit = math.min(BATCH, order.wanted_managed)
    local given = claim_waiting(order, 'again_managed', limit)
    order.wanted_managed = order.wanted_managed - given
  end
  for _, head in ipairs(redis.call('ZRANGE', base .. 'managed', 0, 2 * order.most)) do
    local _, id = string.match(head, '^([^/]*)/(.*)$')
    while not stuck_jobs[id] and #order.claims < order.most and order.wanted_managed > 0 do
      local spec = load_spec(base, id)
      local taken, count
      if spec and not spec.paused and not spec.parked and not spec.ending then
        taken, count = claim_first_pass(base, id, spec, worker, window, now)
      end
      if not taken then
        write('ZREM', base .. 'managed', head)
        break
      end
      order.claims[#order.claims + 1] = taken
      order.wanted_managed = order.wanted_managed - count
    end
  end
end

-- The fan-outs that have their turn.
local function claim_active(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  for _, id in ipairs(redis.call('HKEYS', base .. 'active')) do
    for _ = 1, order.most do
      if #order.claims >= order.most or order.wanted <= 0 then break end
      local spec = load_spec(base, id)
      if stuck_jobs[id] or not spec or spec.paused or spec.parked or spec.ending then break end
      local taken, count = claim_orphan(base, base .. 'orphans:' .. id, worker, now)
      if taken == false then
        if spec.again == '1' then
          taken, count = claim_again(base, id, spec, worker, window, now)
        else
          taken, count = claim_first_pass(base, id, spec, worker, window, now)
        end
        if not taken then break end
      end
      if taken then
        order.claims[#order.claims + 1] = taken
        order.wanted = order.wanted - count
      end
    end
  end
end

-- When something waits for a worker to come by; 0 when nothing does.
local function next_due_ms(base, now, wall)
  local next_due = math.huge
  for _, set in ipairs(WAITING) do
    next_due = math.min(next_due, tonumber(redis.call('ZRANGE', base .. set, 0, 0, 'WITHSCORES')[2]) or math.huge)
  end
  local scheduled = tonumber(redis.call('ZRANGE', base .. 'sched', 0, 0, 'WITHSCORES')[2])
  if scheduled then next_due = math.min(next_due, scheduled + now - wall) end
  if redis.call('ZCARD', base .. 'queue') > 0 then
    -- Somebody waits for the slot: the moment at which FCM is done with a topic is worth coming back for.
    for _, value in ipairs(redis.call('HVALS', base .. 'active')) do
      next_due = math.min(next_due, tonumber(string.match(value, '|(%d+)$')) or math.huge)
    end
  end
  return next_due == math.huge and 0 or next_due
end

-- What was said since the worker heard last. `cursors`: the last that it heard of jobs, and of refused rates; moved on.
local function hear(base, cursors)
  local news = {}
  local said = redis.call('HMGET', base .. 'ctl', 'said', 'refused')
  for i, stream in ipairs({ 'news', 'refused' }) do
    if said[i] and said[i] ~= cursors[i] then
      -- What was heard last is beyond what was said last: Redis came back with an older state. What was said since then
      -- has lower numbers, and to hear the rest twice does no harm.
      if before(said[i], cursors[i]) then cursors[i] = '0' end
      for _, event in ipairs(redis.call('XRANGE', base .. stream, '(' .. cursors[i], '+', 'COUNT', 500)) do
        cursors[i] = event[1]
        local map = pairs_to_map(event[2])
        -- Of an earlier job under the same name nobody needs to hear that it ended.
        local progress = map.kind == 'end' and redis.call('HMGET', base .. 'spec:' .. map.name, 'total', 'ending')
        if not progress or progress[2] or not progress[1] then
          news[#news + 1] = map.kind or 'rate'
          news[#news + 1] = map.name
          news[#news + 1] = map.value
        end
      end
    end
  end
  return news
end

-- claim: what a worker asks for every few milliseconds: work, permits to send, and news.
--   Work comes in this order: jobs that are ending, what dead workers left, retries that are due, jobs of one batch,
--   and the fan-out that has its turn.
-- ARGV: 1 worker, 2 most batches, 3 recipients wanted of fan-outs, 4 of others, 5 window,
--   6 retries of recipients that were sent before, 7 quota a minute, 8 permits given back, 9 permits wanted for single
--   recipients, 10 for fan-outs, 11 fan-outs that may be active, 12 smear (1/0), 13 backlog limit, 14 the last that was
--   heard of jobs, 15 and of refused rates, 16 recipients wanted of management, 17 number of the worker's connection,
--   18 what it takes the time for (0 = unknown), then optional names, each with its value:
--   answers, refused, told, span   see hear_answers
--   unit   recipients of the fan-out's next multicast, which cannot be divided (0 = there is none)
-- No further batch is given once that many recipients are.
-- Returns {'fenced'}, the error OLDLINK, or
--   {'ok', the project's time, ms to hold every send, ms until the project's probe (0 = not blocked), reason of the block,
--    next due retry, job or end of a topic's turn (0 = none), a job whose audience is being copied ('' = none),
--    entries and jobs that are not over, permits lent, reason of a pause ('' = none), what presses ('' = nothing),
--    what was last said of jobs, and of refused rates, {kind, name, value, ...}, the project's time less Redis TIME,
--    claim, claim, ...}
function claim(keys, args)
  local base, worker, most, window = keys[1], args[1], tonumber(args[2]), args[5]
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return { 'fenced' } end
  if not is_current(base, worker, args[17]) then return old_link() end
  local now, wall = steady_ms(base, tonumber(args[18]))
  local more, state, claims = optional(args, 19), look(base), {}
  hear_answers(base, state, now, more)
  local order = { base = base, worker = worker, window = window, now = now, most = most, claims = claims,
    wanted = tonumber(args[3]), wanted_single = tonumber(args[4]), wanted_managed = tonumber(args[16]),
    budget = tonumber(args[6]), shares_requests = more.unit ~= nil }
  follow_the_time(base, now, wall)
  local ctl = redis.call('HMGET', base .. 'ctl', 'hold_until', 'block_until', 'block', 'pause', 'alone', 'quota')
  if ctl[6] ~= args[7] then redis.call('HSET', base .. 'ctl', 'quota', args[7]) end
  local hold_ms, probe = math.max(0, (tonumber(state.hold_until) or 0) - now), 0
  local pause = ctl[4] or ''
  local press = pressure(base, tonumber(args[13]), now)

  if most > 0 then
    claim_endings(order)
    restore_one(base)
  end

  local smear = args[12] == '1'
  fill_slot(base, now, tonumber(args[11]), smear)

  local alone = choose_alone(base, worker, ctl[5])

  if ctl[3] then probe = math.max(1, tonumber(ctl[2]) - now) end
  local may_send = hold_ms == 0 and pause == '' and press == '' and most > 0
  if may_send and alone == worker then
    if not ctl[3] and redis.call('SCARD', base .. 'claims:' .. worker) == 0 then
      local taken = claim_orphan(base, base .. 'suspects', worker, now, true)
      if taken then claims[#claims + 1] = taken end
    end
  elseif may_send and ctl[3] then
    if tonumber(ctl[2]) <= now then probe = claim_probe(order) end
    claim_managed(order)
  elseif may_send then
    claim_orphans(order)
    claim_due(order)
    claim_queues(order)
    claim_managed(order)
    claim_active(order)
  end

  local waits_alone = alone == worker and redis.call('SCARD', base .. 'claims:' .. worker) == 0
  local stopped = pause ~= '' or press ~= '' or waits_alone
  local permits = lend(base, state, tonumber(args[7]), now, tonumber(args[8]), stopped and 0 or tonumber(args[9]),
    stopped and 0 or tonumber(args[10]), tonumber(more.unit) and (stopped and 0 or tonumber(more.unit)))
  keep(base, state)

  local copying = redis.call('SRANDMEMBER', base .. 'copying') or ''
  local unfinished = redis.call('SCARD', base .. 'jobs_open') + redis.call('XLEN', base .. 'jobs')
  local cursors = { args[14], args[15] }
  local news = hear(base, cursors)
  local reply = { 'ok', int(now), int(hold_ms), int(probe), ctl[3] or '', int(next_due_ms(base, now, wall)), copying,
    int(unfinished), int(permits), pause, press, cursors[1], cursors[2], news, int(now - wall) }
  for _, taken in ipairs(claims) do reply[#reply + 1] = taken end
  return reply
end

-- spec: what a worker needs to send for a job. ARGV: job id. Returns the hash, flat.
function spec(keys, args)
  return redis.call('HGETALL', keys[1] .. 'spec:' .. args[1])
end

end
