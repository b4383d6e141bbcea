-- ---------------------------------------------------------------------------------------------------------------
-- One claim as the worker receives it:
-- {id, n, epoch, 'first' | 'retry', from, upto, deliveries, abort, todo, maybe, recipients, ending, how}
--   todo: positions that were certainly not sent, '' = all; maybe: positions whose fate nobody knows
--   ending: 'cancelled' or 'expired' when no recipient is to be sent to; how: 1 when the worker is to hold nothing else,
--   2 for the probe of a blocked project, else 0
--   recipients: of a first pass one a line, or a list; of a retry a list of index, "attempts|first_ms|dup|recipient"

-- Recipients of positions from..from+count-1, or nil when the audience has changed.
local function first_pass_recipients(base, id, spec, n, from, count)
  if spec.source == 'inline' then return redis.call('HGET', base .. 'rcpt:' .. id, n) or '' end
  local key = spec.source == 'list' and spec.audience or base .. 'copy:' .. id
  -- An error, after its type was changed, is no number either; raised here it would stop the project's claims.
  if redis.pcall('LLEN', key) ~= tonumber(spec.total) then return nil end
  return redis.call('LRANGE', key, from, from + count - 1)
end

local function retry_recipients(base, id, indexes)
  local list = {}
  for index in string.gmatch(indexes, '%d+') do
    local value = redis.call('HGET', base .. 'wait:' .. id, index)
    if value then
      list[#list + 1] = index
      list[#list + 1] = value
    else
      -- Already has its result; kept as a hole so that positions stay what the record says.
      list[#list + 1] = index
      list[#list + 1] = ''
    end
  end
  return list
end

-- Takes over a batch whose worker is gone. What it may have sent and what it certainly did not are told apart by the
-- watermark, which is written before a send begins.
local function claim_orphan(base, name, worker, now, alone)
  local key = base .. 'b:' .. name
  local batch = pairs_to_map(redis.call('HGETALL', key))
  local id, n = split_name(name)
  if not batch.owner then return nil end
  local spec = load_spec(base, id)
  if not spec then
    redis.call('DEL', key)
    redis.call('SREM', base .. 'groups_on', id)
    return nil
  end
  if spec.parked or spec.paused then
    -- Stays with the job, and comes back with it.
    redis.call('RPUSH', base .. 'stopped:' .. id, name)
    return nil
  end
  local retry = batch.indexes ~= nil
  local recipients
  if retry then
    recipients = retry_recipients(base, id, batch.indexes)
  else
    recipients = first_pass_recipients(base, id, spec, n, tonumber(batch.from), tonumber(batch.count))
    if not recipients then
      redis.call('RPUSH', base .. 'stopped:' .. id, name)
      park(base, id, 'audience: its length changed, must stay ' .. spec.total .. ' until the job is over', now)
      return nil
    end
  end
  local todo, maybe, upto = {}, {}, tonumber(batch.upto)
  local count = tonumber(batch.count)
  for position = 0, count - 1 do
    local index = retry and recipients[2 * position + 1] or int(tonumber(batch.from) + position)
    if not batch['w' .. index] and redis.call('GETBIT', base .. 'done:' .. id, index) == 0 then
      local list = position < upto and maybe or todo
      list[#list + 1] = int(position)
    end
  end
  local epoch = next_epoch(base, now)
  -- The new holder counts its calls from one.
  redis.call('HDEL', key, 'call')
  redis.call('HSET', key, 'owner', worker, 'epoch', epoch)
  if alone then redis.call('HSET', key, 'alone', '1') end
  local deliveries = redis.call('HINCRBY', key, 'deliveries', 1)
  redis.call('SADD', base .. 'claims:' .. worker, name)
  if not spec.ending then mark_active(base, id, now) end
  local listed = #todo > 0 and table.concat(todo, ',') or '-'
  return { id, n, epoch, retry and 'retry' or 'first', batch.from or '0', batch.upto, int(deliveries), spec.abort,
    listed, table.concat(maybe, ','), recipients, spec.ending or '', alone and '1' or '0' }, count
end

-- Takes the next batch of the first pass of a job, or nil when there is none.
local function claim_first_pass(base, id, spec, worker, window, now)
  local total, from = tonumber(spec.total), tonumber(spec.next)
  if from >= total then return nil end
  local count = math.min(BATCH, total - from)
  local n = int(from / BATCH)
  local recipients = first_pass_recipients(base, id, spec, n, from, count)
  if not recipients then
    park(base, id, 'audience: its length changed, must stay ' .. spec.total .. ' until the job is over', now)
    return nil
  end
  redis.call('HSET', base .. 'spec:' .. id, 'next', int(from + count))
  local epoch = next_epoch(base, now)
  open_batch(base, id, n, worker, epoch, window, { 'from', int(from), 'count', int(count) })
  local rolled = redis.call('HGET', base .. 'rolled:' .. id, n)
  if rolled then
    -- Redis came back with an older state: this batch had been given out, and some of it was sent.
    redis.call('HDEL', base .. 'rolled:' .. id, n)
    redis.call('HSET', base .. 'b:' .. id .. '/' .. n, 'upto', rolled)
    redis.call('SREM', base .. 'claims:' .. worker, id .. '/' .. n)
    return claim_orphan(base, id .. '/' .. n, worker, now)
  end
  if not spec.ending then
    mark_active(base, id, now)
    if spec.class == 'aimed' then hold_slot_for_send(base, id) end
  end
  return { id, n, epoch, 'first', int(from), window, '1', spec.abort, '', '', recipients, spec.ending or '', '0' }, count
end

-- Opens a batch of waiting recipients of one job.
local function open_retry(base, id, spec, list, worker, window, now, how)
  local epoch = next_epoch(base, now)
  local n, indexes = 'r' .. epoch, table.concat(list, ',')
  open_batch(base, id, n, worker, epoch, window, { 'indexes', indexes, 'count', int(#list) })
  if redis.call('EXISTS', base .. 'crashed:' .. id) == 1 then
    local most = 0
    for _, count in ipairs(redis.call('HMGET', base .. 'crashed:' .. id, unpack(list))) do
      most = math.max(most, tonumber(count) or 0)
    end
    if most > 0 then redis.call('HSET', base .. 'b:' .. id .. '/' .. n, 'crashes', int(most)) end
  end
  if spec.class == 'group' and not spec.ending then redis.call('SADD', base .. 'groups_on', id) end
  return { id, n, epoch, 'retry', '0', window, '1', spec.abort, '', '', retry_recipients(base, id, indexes),
    spec.ending or '', how or '0' }
end

-- Gathers what is due of one of the waiting sets into batches of one job each; returns how many recipients they hold.
local function claim_retries(base, set, limit, most, worker, window, now, claims, how)
  local due = redis.call('ZRANGEBYSCORE', base .. set, '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, limit)
  local order, by_job, specs, given = {}, {}, {}, 0
  for i = 1, #due, 2 do
    local member = due[i]
    local id, index = split_name(member)
    if not specs[id] then specs[id] = load_spec(base, id) or { gone = true } end
    local spec = specs[id]
    if spec.gone or redis.call('HEXISTS', base .. 'wait:' .. id, index) == 0 then
      redis.call('ZREM', base .. set, member)
    elseif spec.paused or spec.parked then
      redis.call('ZREM', base .. set, member)
      redis.call('ZADD', base .. 'held:' .. id, due[i + 1], member)
    elseif spec.class == 'aimed' and not spec.ending then
      -- Sent again it starts a fan-out again: it takes its turn.
      redis.call('ZREM', base .. set, member)
      redis.call('HSET', base .. 'spec:' .. id, 'again', '1')
      enqueue(base, spec)
    elseif spec.class == 'group' and not by_job[id]
      and redis.call('SCARD', base .. 'groups_on') + #order >= MOST_GROUPS then
      redis.call('ZADD', base .. set, int(now + 250), member)
    else
      if not by_job[id] and #order < most then
        by_job[id] = {}
        order[#order + 1] = id
      end
      local list = by_job[id]
      if list and #list < BATCH then
        redis.call('ZREM', base .. set, member)
        list[#list + 1] = index
      end
    end
  end
  for _, id in ipairs(order) do
    given = given + #by_job[id]
    local taken = open_retry(base, id, specs[id], by_job[id], worker, window, now, how)
    -- A batch that is a suspect by what it carries is run alone, later.
    local name = id .. '/' .. taken[2]
    if (tonumber(redis.call('HGET', base .. 'b:' .. name, 'crashes') or '0')) >= SUSPECT then
      redis.call('SREM', base .. 'claims:' .. worker, name)
      redis.call('HSET', base .. 'b:' .. name, 'upto', '0')
      redis.call('RPUSH', base .. 'suspects', name)
    else
      claims[#claims + 1] = taken
    end
  end
  return given
end

-- A topic or condition that has to be sent again, and has the slot.
local function claim_again(base, id, spec, worker, window, now)
  redis.call('HDEL', base .. 'spec:' .. id, 'again')
  if not redis.call('HGET', base .. 'wait:' .. id, '0') then return nil end
  hold_slot_for_send(base, id)
  return open_retry(base, id, spec, { '0' }, worker, window, now), 1
end

-- A batch of a job that is ending: what was orphaned, then what was never claimed, then what waits for a retry.
local function claim_ending(base, id, worker, window, now)
  local spec = load_spec(base, id)
  if not spec then
    redis.call('ZREM', base .. 'ending', id)
    return nil
  end
  for _, list in ipairs({ 'stopped:', 'orphans:' }) do
    local name = redis.call('LPOP', base .. list .. id)
    if name then return claim_orphan(base, name, worker, now) end
  end
  if tonumber(spec.next) < tonumber(spec.total) then return claim_first_pass(base, id, spec, worker, window, now) end
  local list = {}
  for _, index in ipairs(redis.call('HRANDFIELD', base .. 'wait:' .. id, BATCH) or {}) do
    -- What is not there is in a worker's hands, which ends it itself.
    if unschedule(base, id, index) then list[#list + 1] = index end
  end
  if #list == 0 and spec.again == '1' then
    redis.call('HDEL', base .. 'spec:' .. id, 'again')
    list[1] = '0'
  end
  if #list == 0 then return nil end
  return open_retry(base, id, spec, list, worker, window, now), #list
end

-- The project can be sent to again: what waited for that goes on.
local function unblock(base)
  redis.call('HDEL', base .. 'ctl', 'block', 'block_until')
  for _, id in ipairs(redis.call('SMEMBERS', base .. 'blocked')) do
    local job = base .. 'job:' .. id
    local spec = load_spec(base, id)
    if spec and not spec.paused and redis.call('HGET', job, 'state') == 'paused' then
      redis.call('HSET', job, 'state', natural_state(base, id, spec))
      redis.call('HDEL', job, 'reason')
    end
  end
  redis.call('DEL', base .. 'blocked')
end

-- Why no worker may take on more of this project: its readers are too far behind, or Redis' memory is nearly full.
-- Looked at five times a second; what stopped it has to fall to four fifths before it goes on.
local function pressure(base, limit, now)
  local ctl = redis.call('HMGET', base .. 'ctl', 'looked', 'pressure')
  local looked, was = tonumber(ctl[1]) or 0, ctl[2]
  if now >= looked and now < looked + 200 then return was or '' end
  local why = ''
  local info = redis.call('INFO', 'memory')
  local most = tonumber(string.match(info, '\nmaxmemory:(%d+)')) or 0
  local used = tonumber(string.match(info, '\nused_memory:(%d+)')) or 0
  if most > 0 and used > most * (was == 'memory' and 0.75 or 0.8) then why = 'memory' end
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
  if why == '' then redis.call('HDEL', base .. 'ctl', 'pressure') else redis.call('HSET', base .. 'ctl', 'pressure', why) end
  return why
end

-- claim: what a worker asks for every few milliseconds: work, permits to send, and news.
--   Work comes in this order: jobs that are ending, what dead workers left, retries that are due, jobs of one batch,
--   and the fan-out that has its turn.
-- ARGV: 1 worker, 2 most batches, 3 recipients wanted of fan-outs, 4 of others, 5 window,
--   6 retries of recipients that were sent before, 7 quota a minute, 8 permits given back, 9 permits wanted for single
--   recipients, 10 for fan-outs, 11 fan-outs that may be active, 12 smear (1/0), 13 backlog limit, 14 the last that was heard of jobs,
--   15 and of refused rates.
-- No further batch is given once that many recipients are.
-- Returns {'fenced'} or
--   {'ok', now_ms, ms to hold every send, ms until the project's probe (0 = not blocked), reason of the block,
--    next due retry, job or end of a topic's turn (Unix ms, 0 = none), a job whose audience is being copied ('' = none),
--    entries and jobs that are not over, permits lent, reason of a pause ('' = none), what presses ('' = nothing),
--    what was last said of jobs, and of refused rates, {kind, name, value, ...}, claim, claim, ...}
local function claim(keys, args)
  local base, worker, most, window = keys[1], args[1], tonumber(args[2]), args[5]
  local wanted, wanted_single = tonumber(args[3]), tonumber(args[4])
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return { 'fenced' } end
  local now = now_ms()
  local claims = {}
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'expiring', '-inf', int(now), 'LIMIT', 0, 100)) do
    redis.call('ZREM', base .. 'expiring', id)
    end_job(base, id, 'expired', now)
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'sched', '-inf', int(now), 'LIMIT', 0, 100)) do
    redis.call('ZREM', base .. 'sched', id)
    local spec = load_spec(base, id)
    if spec and not spec.parked and not spec.paused and not spec.ending then
      redis.call('HSET', base .. 'job:' .. id, 'state', 'waiting')
      if redis.call('SISMEMBER', base .. 'copying', id) == 0 then enqueue(base, spec) end
    end
  end
  local ctl = redis.call('HMGET', base .. 'ctl', 'hold_until', 'block_until', 'block', 'pause', 'alone')
  local hold_ms, probe = math.max(0, (tonumber(ctl[1]) or 0) - now), 0
  local pause = ctl[4] or ''
  local press = pressure(base, tonumber(args[13]), now)

  -- Ending asks for nothing but room. A job whose last recipients are in others' hands is looked at again later.
  if most > 0 then
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'ending', '-inf', int(now), 'LIMIT', 0, math.min(most, 8))) do
      if #claims >= most or wanted_single + wanted <= 0 then break end
      local taken, count = claim_ending(base, id, worker, window, now)
      if taken then
        claims[#claims + 1] = taken
        wanted = wanted - count
      elseif redis.call('EXISTS', base .. 'spec:' .. id) == 1 then
        redis.call('ZADD', base .. 'ending', int(now + 500), id)
      end
    end
    local id = redis.call('SRANDMEMBER', base .. 'restoring')
    if id then
      local spec = load_spec(base, id)
      if spec and not spec.paused and not spec.parked then
        unhold(base, id, spec)
      else
        redis.call('SREM', base .. 'restoring', id)
      end
    end
  end

  local smear = args[12] == '1'
  fill_slot(base, now, tonumber(args[11]), smear)

  -- A suspect is run by a worker that holds nothing else; until it does, that worker is given nothing.
  local alone = ctl[5]
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

  if ctl[3] then probe = math.max(1, tonumber(ctl[2]) - now) end
  local may_send = hold_ms == 0 and pause == '' and press == '' and most > 0
  if may_send and alone == worker then
    if not ctl[3] and redis.call('SCARD', base .. 'claims:' .. worker) == 0 then
      local name = redis.call('LPOP', base .. 'suspects')
      local taken = name and claim_orphan(base, name, worker, now, true)
      if taken then claims[#claims + 1] = taken end
    end
  elseif may_send and ctl[3] then
    if tonumber(ctl[2]) <= now then
      -- The probe: one recipient goes out; whoever takes it moves the next probe, so there is one at a time.
      redis.call('HSET', base .. 'ctl', 'block_until', int(now + 60000))
      local before = #claims
      for _, set in ipairs(WAITING) do
        for _ = 1, 20 do
          if #claims > before or redis.call('ZCOUNT', base .. set, '-inf', int(now)) == 0 then break end
          claim_retries(base, set, 1, 1, worker, '1', now, claims, '2')
        end
      end
      probe = 60000
      if #claims == before then
        unblock(base)
        probe = 0
      end
    end
  elseif may_send then
    -- Bounded: a list of orphans of jobs that are over must not hold the server.
    for _ = 1, 100 do
      if #claims >= most or wanted_single + wanted <= 0 then break end
      local name = redis.call('LPOP', base .. 'orphans')
      if not name then break end
      local taken, count = claim_orphan(base, name, worker, now)
      if taken then
        claims[#claims + 1] = taken
        wanted = wanted - count
      end
    end
    -- What was never sent is no retry, and the budget of those is for single recipients first.
    local budget = tonumber(args[6])
    if #claims < most and wanted_single > 0 then
      local limit = math.min(BATCH, wanted_single)
      wanted_single = wanted_single - claim_retries(base, 'again', limit, most - #claims, worker, window, now, claims)
    end
    if #claims < most and wanted_single > 0 and budget > 0 then
      local limit = math.min(BATCH, wanted_single, budget)
      local given = claim_retries(base, 'retry', limit, most - #claims, worker, window, now, claims)
      budget = budget - given
      wanted_single = wanted_single - given
    end
    if #claims < most and wanted > 0 and budget > 0 then
      local limit = math.min(BATCH, wanted, budget)
      wanted = wanted - claim_retries(base, 'retry_many', limit, most - #claims, worker, window, now, claims)
    end
    for _, queue in ipairs({ 'singles', 'groups' }) do
      for _ = 1, 2 * most do
        if #claims >= most or wanted_single <= 0 then break end
        if queue == 'groups' and redis.call('SCARD', base .. 'groups_on') >= MOST_GROUPS then break end
        local head = redis.call('ZPOPMIN', base .. queue)[1]
        if not head then break end
        local _, id = string.match(head, '^([^/]*)/(.*)$')
        local spec = load_spec(base, id)
        local taken, count
        if spec and not spec.paused and not spec.parked and not spec.ending then
          taken, count = claim_first_pass(base, id, spec, worker, window, now)
        end
        if taken then
          claims[#claims + 1] = taken
          wanted_single = wanted_single - count
          if queue == 'groups' then redis.call('SADD', base .. 'groups_on', id) end
        end
      end
    end
    local active = redis.call('HKEYS', base .. 'active')
    for _, id in ipairs(active) do
      for _ = 1, most do
        if #claims >= most or wanted <= 0 then break end
        local spec = load_spec(base, id)
        if not spec or spec.paused or spec.parked or spec.ending then break end
        local taken, count
        local name = redis.call('LPOP', base .. 'orphans:' .. id)
        if name then
          taken, count = claim_orphan(base, name, worker, now)
        elseif spec.again == '1' then
          taken, count = claim_again(base, id, spec, worker, window, now)
          if not taken then break end
        else
          taken, count = claim_first_pass(base, id, spec, worker, window, now)
          if not taken then break end
        end
        if taken then
          claims[#claims + 1] = taken
          wanted = wanted - count
        end
      end
    end
  end

  local permits = 0
  local stopped = pause ~= '' or press ~= '' or (alone == worker and redis.call('SCARD', base .. 'claims:' .. worker) == 0)
  permits = lend(base, tonumber(args[7]), now, tonumber(args[8]), stopped and 0 or tonumber(args[9]),
    stopped and 0 or tonumber(args[10]))

  local next_due = math.huge
  for _, set in ipairs({ 'again', 'retry', 'retry_many', 'sched' }) do
    next_due = math.min(next_due, tonumber(redis.call('ZRANGE', base .. set, 0, 0, 'WITHSCORES')[2]) or math.huge)
  end
  if redis.call('ZCARD', base .. 'queue') > 0 then
    -- Somebody waits for the slot: the moment at which FCM is done with a topic is worth coming back for.
    for _, value in ipairs(redis.call('HVALS', base .. 'active')) do
      next_due = math.min(next_due, tonumber(string.match(value, '|(%d+)$')) or math.huge)
    end
  end
  if next_due == math.huge then next_due = 0 end
  local copying = redis.call('SRANDMEMBER', base .. 'copying') or ''
  local unfinished = redis.call('SCARD', base .. 'jobs_open') + redis.call('XLEN', base .. 'jobs')
  local news, cursors = {}, { args[14], args[15] }
  for i, stream in ipairs({ 'news', 'refused' }) do
    for _, event in ipairs(redis.call('XRANGE', base .. stream, '(' .. cursors[i], '+', 'COUNT', 500)) do
      cursors[i] = event[1]
      local map = pairs_to_map(event[2])
      news[#news + 1] = map.kind or 'rate'
      news[#news + 1] = map.name
      news[#news + 1] = map.value
    end
  end
  local reply = { 'ok', int(now), int(hold_ms), int(probe), ctl[3] or '', int(next_due), copying, int(unfinished),
    int(permits), pause, press, cursors[1], cursors[2], news }
  for _, taken in ipairs(claims) do reply[#reply + 1] = taken end
  return reply
end

-- spec: what a worker needs to send for a job. ARGV: job id. Returns the hash, flat.
local function spec(keys, args)
  return redis.call('HGETALL', keys[1] .. 'spec:' .. args[1])
end

