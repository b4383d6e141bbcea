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
-- watermark, which is written before a send begins. Part of a step.
-- `list`: the key of the list that it is in, nil for none; `batch`: its fields, if the same step writes them.
-- Returns the claim and its number of recipients; nil when it cannot be taken; nil and the spec when the audience
-- changed.
local function take_over(base, name, worker, now, list, alone, batch)
  local key = base .. 'b:' .. name
  if list then write('LREM', list, 1, name) end
  batch = batch or pairs_to_map(redis.call('HGETALL', key))
  local id, n = split_name(name)
  if not batch.owner then return nil end
  local spec = load_spec(base, id)
  if not spec then
    write('DEL', key)
    write('SREM', base .. 'groups_on', id)
    return nil
  end
  if spec.parked or spec.paused then
    -- Stays with the job, and comes back with it.
    write('RPUSH', base .. 'stopped:' .. id, name)
    return nil
  end
  local retry = batch.indexes ~= nil
  local recipients
  if retry then
    recipients = retry_recipients(base, id, batch.indexes)
  else
    recipients = first_pass_recipients(base, id, spec, n, tonumber(batch.from), tonumber(batch.count))
    if not recipients then
      write('RPUSH', base .. 'stopped:' .. id, name)
      return nil, spec
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
  local epoch, deliveries = next_epoch(base, now), int((tonumber(batch.deliveries) or 0) + 1)
  -- The new holder counts its calls from one.
  write('HDEL', key, 'call')
  write('HSET', key, 'owner', worker, 'epoch', epoch, 'deliveries', deliveries)
  if alone then write('HSET', key, 'alone', '1') end
  write('SADD', base .. 'claims:' .. worker, name)
  if not spec.ending then
    mark_active(base, id, now)
    if spec.class == 'aimed' and list == base .. 'orphans:' .. id then hold_slot_for_send(base, id) end
  end
  local listed = #todo > 0 and table.concat(todo, ',') or '-'
  return { id, n, epoch, retry and 'retry' or 'first', batch.from or '0', batch.upto, deliveries, spec.abort,
    listed, table.concat(maybe, ','), recipients, spec.ending or '', alone and '1' or '0' }, count
end

local CHANGED = 'audience: its length changed, must stay '

-- Claims the first batch of a list of orphans. Returns false when the list is empty, nil when the batch cannot be
-- taken, or the claim and its number of recipients.
local function claim_orphan(base, list, worker, now, alone)
  local name
  for _, one in ipairs(redis.call('LRANGE', list, 0, next(stuck_jobs) and 99 or 0)) do
    if not name and not stuck_jobs[split_name(one)] then name = one end
  end
  if not name then return false end
  local id = split_name(name)
  local taken, count = in_step(base, id, take_over, base, name, worker, now, list, alone)
  if not taken and count then park(base, id, CHANGED .. count.total .. ' until the job is over', now) end
  return taken, taken and count
end

-- Opens a batch of a job's first pass for a worker. Part of a step. Returns the claim and its number of recipients.
local function open_first_pass(base, id, spec, n, worker, window, now, from, count, recipients)
  write('HSET', base .. 'spec:' .. id, 'next', int(from + count))
  local rolled = redis.call('HGET', base .. 'rolled:' .. id, n)
  if rolled then
    -- Redis came back with an older state: this batch had been given out, and some of it was sent.
    local batch = { owner = worker, upto = rolled, deliveries = '1', from = int(from), count = int(count) }
    write('HDEL', base .. 'rolled:' .. id, n)
    write('HSET', base .. 'b:' .. id .. '/' .. n, 'upto', rolled, 'from', batch.from, 'count', batch.count)
    return take_over(base, id .. '/' .. n, worker, now, nil, nil, batch)
  end
  local epoch = next_epoch(base, now)
  open_batch(base, id, n, worker, epoch, window, { 'from', int(from), 'count', int(count) })
  write('SADD', base .. 'claims:' .. worker, id .. '/' .. n)
  if not spec.ending then
    mark_active(base, id, now)
    if spec.class == 'aimed' then hold_slot_for_send(base, id) end
    if spec.class == 'group' then write('SADD', base .. 'groups_on', id) end
  end
  return { id, n, epoch, 'first', int(from), window, '1', spec.abort, '', '', recipients, spec.ending or '', '0' }, count
end

-- Claims the next batch of a job's first pass; nil when there is none. `queue`, `head`: a zset and the member that the
-- same step removes from it; nil for none.
local function claim_first_pass(base, id, spec, worker, window, now, queue, head)
  local total, from = tonumber(spec.total), tonumber(spec.next)
  if from >= total then return nil end
  local count = math.min(BATCH, total - from)
  local n = int(from / BATCH)
  local recipients = first_pass_recipients(base, id, spec, n, from, count)
  if not recipients then
    park(base, id, CHANGED .. spec.total .. ' until the job is over', now)
    return nil
  end
  return in_step(base, id, function()
    if queue then write('ZREM', queue, head) end
    return open_first_pass(base, id, spec, n, worker, window, now, from, count, recipients)
  end)
end

-- Opens a batch of waiting recipients of one job. Part of a step. Returns the claim; nil when a recipient was in three
-- crashed batches in a row: then the batch goes to `suspects` and is run alone, later.
local function open_retry(base, id, spec, list, worker, window, now, how)
  local epoch = next_epoch(base, now)
  local n, indexes, most = 'r' .. epoch, table.concat(list, ','), 0
  local name = id .. '/' .. n
  if redis.call('EXISTS', base .. 'crashed:' .. id) == 1 then
    for _, count in ipairs(redis.call('HMGET', base .. 'crashed:' .. id, unpack(list))) do
      most = math.max(most, tonumber(count) or 0)
    end
  end
  write('HSET', base .. 'b:' .. name, 'owner', worker, 'epoch', epoch, 'upto', most >= SUSPECT and '0' or window,
    'deliveries', '1', 'indexes', indexes, 'count', int(#list))
  if most > 0 then write('HSET', base .. 'b:' .. name, 'crashes', int(most)) end
  if spec.class == 'group' and not spec.ending then write('SADD', base .. 'groups_on', id) end
  if most >= SUSPECT then
    write('RPUSH', base .. 'suspects', name)
    return nil
  end
  write('SADD', base .. 'claims:' .. worker, name)
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
      write('ZREM', base .. set, member)
    elseif stuck_jobs[id] then
      -- Behind the others, which need not wait for it.
      write('ZADD', base .. set, int(now + 1000), member)
    elseif spec.paused or spec.parked then
      write('ZADD', base .. 'held:' .. id, due[i + 1], member)
      write('ZREM', base .. set, member)
    elseif spec.class == 'aimed' and not spec.ending then
      -- Sent again it starts a fan-out again: it takes its turn.
      in_step(base, id, function()
        write('ZREM', base .. set, member)
        write('HSET', base .. 'spec:' .. id, 'again', '1')
        enqueue(base, spec)
      end)
    elseif spec.class == 'group' and not by_job[id]
      and redis.call('SCARD', base .. 'groups_on') + #order >= MOST_GROUPS then
      write('ZADD', base .. set, int(now + 250), member)
    else
      if not by_job[id] and #order < most then
        by_job[id] = {}
        order[#order + 1] = id
      end
      local list = by_job[id]
      if list and #list < BATCH then list[#list + 1] = index end
    end
  end
  for _, id in ipairs(order) do
    given = given + #by_job[id]
    claims[#claims + 1] = in_step(base, id, function()
      local members = {}
      for i, index in ipairs(by_job[id]) do members[i] = id .. '/' .. index end
      write('ZREM', base .. set, unpack(members))
      return open_retry(base, id, specs[id], by_job[id], worker, window, now, how)
    end)
  end
  return given
end

-- A topic or condition that has to be sent again, and has the slot.
local function claim_again(base, id, spec, worker, window, now)
  local taken = in_step(base, id, function()
    write('HDEL', base .. 'spec:' .. id, 'again')
    if not redis.call('HGET', base .. 'wait:' .. id, '0') then return nil end
    local retry = open_retry(base, id, spec, { '0' }, worker, window, now)
    if retry then hold_slot_for_send(base, id) end
    return retry
  end)
  return taken, taken and 1
end

-- A batch of a job that is ending: what was orphaned, then what was never claimed, then what waits for a retry.
local function claim_ending(base, id, worker, window, now)
  local spec = load_spec(base, id)
  if not spec then
    write('ZREM', base .. 'ending', id)
    return nil
  end
  for _, list in ipairs({ 'stopped:', 'orphans:' }) do
    local taken, count = claim_orphan(base, base .. list .. id, worker, now)
    if taken ~= false then return taken, count end
  end
  if tonumber(spec.next) < tonumber(spec.total) then return claim_first_pass(base, id, spec, worker, window, now) end
  local list = {}
  for _, index in ipairs(redis.call('HRANDFIELD', base .. 'wait:' .. id, BATCH) or {}) do
    -- What is not there is in a worker's hands, which ends it itself.
    if is_scheduled(base, id, index) then list[#list + 1] = index end
  end
  local again = #list == 0 and spec.again == '1'
  if #list == 0 and not again then return nil end
  local taken = in_step(base, id, function()
    if again then
      write('HDEL', base .. 'spec:' .. id, 'again')
      list[1] = '0'
    else
      unschedule(base, id, list)
    end
    return open_retry(base, id, spec, list, worker, window, now)
  end)
  return taken, taken and #list
end
