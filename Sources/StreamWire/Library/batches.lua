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
  if spec.ending then
    -- Nobody is sent to any more, so what is left of a changed audience will do; who cannot be named has a result all
    -- the same.
    local list = redis.pcall('LRANGE', key, from, from + count - 1)
    if list.err then list = {} end
    for i = #list + 1, count do list[i] = '' end
    return list
  end
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

-- A batch that is a suspect by what it carries is run alone, later.
local function is_set_aside(base, name, worker)
  if tonumber(redis.call('HGET', base .. 'b:' .. name, 'crashes') or '0') < SUSPECT then return false end
  redis.call('SREM', base .. 'claims:' .. worker, name)
  redis.call('HSET', base .. 'b:' .. name, 'upto', '0')
  redis.call('RPUSH', base .. 'suspects', name)
  return true
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
    if not is_set_aside(base, id .. '/' .. taken[2], worker) then claims[#claims + 1] = taken end
  end
  return given
end

-- A topic or condition that has to be sent again, and has the slot.
local function claim_again(base, id, spec, worker, window, now)
  redis.call('HDEL', base .. 'spec:' .. id, 'again')
  if not redis.call('HGET', base .. 'wait:' .. id, '0') then return nil end
  local taken = open_retry(base, id, spec, { '0' }, worker, window, now)
  if is_set_aside(base, id .. '/' .. taken[2], worker) then return nil end
  hold_slot_for_send(base, id)
  return taken, 1
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
