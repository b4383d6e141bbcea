-- Batches as claims. `plan`: what one call of `claim` may give, see claim.lua; used here: base, worker, window, now.

local new_claim, retry_recipients, claim_orphan, claim_first_pass
do

-- One claim as the worker receives it: names, each with its value; see Claim in Functions/Claim.swift. Besides:
--   recipients: of a first pass one a line, or a list; of a retry a list of index, "attempts|first_ms|dup|recipient";
--   the second is empty for a recipient that has its result
--   from: index of the first recipient of a first pass
--   unsent, maybe_sent: positions of a batch that was taken over; its others have a result or wait for a retry
function new_claim(name, spec, fields)
  local claim = {}
  fields.job, fields.batch = split_name(name)
  fields.born, fields.ending = spec.born or nil, spec.ending or nil
  local guards = spec.guarded and not spec.ending and spec.guards
  if guards and guards.send_window then fields.closes = guards.closes end
  for field, value in pairs(fields) do add_pair(claim, field, value) end
  return claim
end

-- Recipients of positions from..from+count-1, or nil when the audience has changed.
local function first_pass_recipients(base, id, spec, n, from, count)
  if spec.source == 'inline' then return read_recipients(base, id, n) end
  local key = spec.source == 'list' and spec.audience or base .. 'copy:' .. id
  if spec.ending then
    -- Nothing more is sent: a recipient that left the audience gets its result without a name.
    local list = redis.pcall('LRANGE', key, from, from + count - 1)
    if list.err then list = {} end
    for i = #list + 1, count do list[i] = '' end
    return list
  end
  -- The error of another type is no number either; raised here it would stop the project's claims.
  local length = redis.pcall('LLEN', key)
  -- A key of another type is a changed audience. Any other error says nothing about it, and is raised.
  if type(length) == 'table' and not string.find(length.err, 'WRONGTYPE', 1, true) then redis.call('LLEN', key) end
  if length ~= tonumber(spec.total) then return nil end
  return redis.call('LRANGE', key, from, from + count - 1)
end

-- A recipient that has its result keeps its place, so that positions stay what the batch says.
function retry_recipients(base, id, indexes)
  local list = {}
  for index in string.gmatch(indexes, '%d+') do
    add_pair(list, index, redis.call('HGET', base .. 'wait:' .. id, index) or '')
  end
  return list
end

-- Positions of a batch without a result or a retry: the unsent ones, and those below the watermark.
local function open_positions(base, id, batch, recipients)
  local unsent, maybe_sent, watermark = {}, {}, tonumber(batch.upto)
  for position = 0, tonumber(batch.count) - 1 do
    local index = batch.indexes and recipients[2 * position + 1] or int(tonumber(batch.from) + position)
    if not batch['w' .. index] and redis.call('GETBIT', base .. 'done:' .. id, index) == 0 then
      local list = position < watermark and maybe_sent or unsent
      list[#list + 1] = int(position)
    end
  end
  return unsent, maybe_sent
end

-- Takes over a batch without a holder. Part of a step.
-- `list`: the key of the list that it is in, nil for none; `quarantine`: how a quarantined batch is run, see claim;
-- `batch`: its fields, if the same step writes them.
-- Returns the claim and its number of recipients; nil, and the spec when the audience changed.
local function take_over(plan, name, list, quarantine, batch)
  local base = plan.base
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
  if spec.parked or spec.paused or defer_closed(base, id, spec, plan.now) then
    -- Stays with the job, and comes back with it.
    write('RPUSH', base .. 'stopped:' .. id, name)
    write('SREM', base .. 'groups_on', id)
    return nil
  end
  local recipients
  if batch.indexes then
    recipients = retry_recipients(base, id, batch.indexes)
  else
    recipients = first_pass_recipients(base, id, spec, n, tonumber(batch.from), tonumber(batch.count))
    if not recipients then
      write('RPUSH', base .. 'stopped:' .. id, name)
      return nil, spec
    end
  end
  local unsent, maybe_sent = open_positions(base, id, batch, recipients)
  local epoch, deliveries = next_epoch(base, plan.now), int((tonumber(batch.deliveries) or 0) + 1)
  -- The new holder counts its calls from one.
  write('HDEL', key, 'call', 'lost')
  if batch.lost then mark_takeover(base, plan.worker, batch.owner) end
  write('HSET', key, 'owner', plan.worker, 'epoch', epoch, 'deliveries', deliveries)
  if quarantine == 'exclusive' then
    write('HSET', key, 'alone', '1')
  elseif batch.alone then
    write('HDEL', key, 'alone')
  end
  write('SADD', base .. 'claims:' .. plan.worker, name)
  if not spec.ending then
    handover.mark_active(base, id, plan.now)
    if spec.class == 'group' then write('SADD', base .. 'groups_on', id) end
    if spec.class == BROADCAST and list == base .. 'orphans:' .. id then hold_slot_for_send(base, id) end
  end
  return new_claim(name, spec, { epoch = epoch, pass = batch.indexes and 'retry' or 'first', from = batch.from,
    watermark = batch.upto, deliveries = deliveries, recipients = recipients, unsent = table.concat(unsent, ','),
    maybe_sent = table.concat(maybe_sent, ','), quarantined = quarantine and '1' or nil,
    crashes = quarantine and batch.crashes or nil }), tonumber(batch.count)
end

local AUDIENCE_CHANGED = 'audience: its length changed, must stay '

-- Claims the first batch of a list of orphans. Returns false when the list is empty, or what take_over returns.
function claim_orphan(plan, list, quarantine)
  local name
  for _, candidate in ipairs(redis.call('LRANGE', list, 0, (next(stuck_jobs) or plan.spares_refused) and 99 or 0)) do
    local of = split_name(candidate)
    if not name and not stuck_jobs[of] and not refusals.is_spared(plan, of) then name = candidate end
  end
  if not name then return false end
  local id = split_name(name)
  local taken, count = in_step(plan.base, id, take_over, plan, name, list, quarantine)
  if not taken and count then
    park(plan.base, id, AUDIENCE_CHANGED .. count.total .. ' until the job is over', plan.now)
  end
  return taken, taken and count
end

-- Opens a batch of a job's first pass for a worker. Part of a step. Returns the claim and its number of recipients.
local function open_first_pass(plan, id, spec, n, from, count, recipients, window)
  local base, worker = plan.base, plan.worker
  local name = id .. '/' .. n
  write('HSET', base .. 'spec:' .. id, 'next', int(from + count))
  local watermark = redis.call('HGET', base .. 'rolled:' .. id, n)
  if watermark then
    -- Redis came back with an older state: this batch had been claimed, and some of it was sent.
    local batch = { owner = worker, upto = watermark, deliveries = '1', from = int(from), count = int(count) }
    write('HDEL', base .. 'rolled:' .. id, n)
    write('HSET', base .. 'b:' .. name, 'upto', watermark, 'from', batch.from, 'count', batch.count)
    return take_over(plan, name, nil, nil, batch)
  end
  local epoch, guards = next_epoch(base, plan.now), read_guards(base, id, spec)
  if guards then spend_rate(base, id, guards, tonumber(window)) end
  handover.open_batch(base, id, n, worker, epoch, window, { 'from', int(from), 'count', int(count) })
  write('SADD', base .. 'claims:' .. worker, name)
  if not spec.ending then
    handover.mark_active(base, id, plan.now)
    if spec.class == BROADCAST then hold_slot_for_send(base, id) end
    if spec.class == 'group' then write('SADD', base .. 'groups_on', id) end
  end
  return new_claim(name, spec, { epoch = epoch, pass = 'first', from = int(from), watermark = window, deliveries = '1',
    recipients = recipients, probe = plan.is_probe and '1' or nil }), count
end

-- Claims the next batch of a job's first pass; nil when there is none. The same step removes `head` from `queue`.
function claim_first_pass(plan, id, spec, queue, head)
  local total, from = tonumber(spec.total), tonumber(spec.next)
  if from >= total then return nil end
  local count = math.min(BATCH, total - from)
  local n = int(from / BATCH)
  local window = first_watermark(plan, id, spec, from, count)
  if not window then return nil end
  local recipients = first_pass_recipients(plan.base, id, spec, n, from, count)
  if not recipients then
    park(plan.base, id, AUDIENCE_CHANGED .. spec.total .. ' until the job is over', plan.now)
    return nil
  end
  return in_step(plan.base, id, function()
    if queue then write('ZREM', queue, head) end
    return open_first_pass(plan, id, spec, n, from, count, recipients, window)
  end)
end

end
