-- Recipients that wait for their due time, as claims.

local claim_due, claim_resend, claim_ending
do

-- Whether a value of wait:<id> is of a recipient that FCM refused without saying whether the project is at fault.
local function is_refused(value)
  return value and string.find(value, '^%d+|0%d')
end

-- How many workers in a row died while they held one of these recipients.
local function most_crashes(base, id, indexes)
  local most = 0
  if redis.call('EXISTS', base .. 'crashed:' .. id) == 1 then
    for _, count in ipairs(redis.call('HMGET', base .. 'crashed:' .. id, unpack(indexes))) do
      most = math.max(most, tonumber(count) or 0)
    end
  end
  return most
end

-- Opens a batch of waiting recipients of one job. Part of a step. Returns the claim; nil when the batch is quarantined,
-- because a recipient was in too many crashed batches in a row. `is_probe`: see claim_probe.
local function open_retry(plan, id, spec, indexes, is_probe)
  local base, window = plan.base, spec.ending and '0' or is_probe and '1' or plan.window
  local epoch, crashes = next_epoch(base, plan.now), most_crashes(base, id, indexes)
  local n, list = 'r' .. epoch, table.concat(indexes, ',')
  -- For the claim.
  read_guards(base, id, spec)
  local name, is_quarantined = id .. '/' .. n, crashes >= CRASHES_TO_QUARANTINE
  write('HSET', base .. 'b:' .. name, 'owner', plan.worker, 'epoch', epoch, 'upto', is_quarantined and '0' or window,
    'deliveries', '1', 'indexes', list, 'count', int(#indexes))
  if crashes > 0 then write('HSET', base .. 'b:' .. name, 'crashes', int(crashes)) end
  if spec.class == 'group' and not spec.ending then write('SADD', base .. 'groups_on', id) end
  if is_quarantined then
    quarantine_batch(base, name, crashes)
    return nil
  end
  write('SADD', base .. 'claims:' .. plan.worker, name)
  -- The worker has no other batch of the job, and would ask for its spec.
  if spec.total == '1' then add_pair(plan.specs, id, redis.call('HGETALL', base .. 'spec:' .. id)) end
  return new_claim(name, spec, { epoch = epoch, pass = 'retry', watermark = window, deliveries = '1',
    recipients = retry_recipients(base, id, list), probe = is_probe and '1' or nil })
end

-- Defers a recipient that is due and cannot be claimed now. Returns whether it did. `jobs`: how many jobs this call has
-- chosen; `is_chosen`: the recipient's job is one of them.
local function defer_due(plan, set, member, due, id, spec, jobs, is_chosen)
  local base = plan.base
  if stuck_jobs[id] then
    -- After the others, which need not wait for it.
    write('ZADD', base .. set, int(plan.now + 1000), member)
  elseif spec.paused or spec.parked then
    write('ZADD', base .. 'held:' .. id, due, member)
    write('ZREM', base .. set, member)
  elseif hold_due(base, set, member, due, id, spec, plan.now) then
    return true
  elseif spec.class == BROADCAST and not spec.ending then
    -- A broadcast that is sent again needs the slot again.
    in_step(base, id, function()
      write('ZREM', base .. set, member)
      write('HSET', base .. 'spec:' .. id, 'again', '1')
      enqueue(base, spec)
    end)
  elseif spec.class == 'group' and not is_chosen and redis.call('SCARD', base .. 'groups_on') + jobs >= MOST_GROUPS then
    write('ZADD', base .. set, int(plan.now + 250), member)
  else
    return false
  end
  return true
end

-- The recipients of a set that are due and can be claimed: a list of at most `most` jobs, and a map of job -> indexes.
-- `probe`: see claim_due.
local function collect_due(plan, set, limit, most, specs, probe)
  local base, size = plan.base, probe and 1 or BATCH
  local due = redis.call('ZRANGEBYSCORE', base .. set, '-inf', int(plan.now), 'WITHSCORES', 'LIMIT', 0, limit)
  local order, by_job = {}, {}
  for i = 1, #due, 2 do
    local member = due[i]
    local id, index = split_name(member)
    -- Once there are enough jobs, only their own recipients are read.
    local is_wanted = by_job[id] or #order < most
    if is_wanted then specs[id] = specs[id] or load_spec(base, id) or { is_gone = true } end
    local spec = specs[id]
    local value = is_wanted and not spec.is_gone and redis.call('HGET', base .. 'wait:' .. id, index)
    if not is_wanted then
      -- It stays for a later claim.
    elseif not value then
      write('ZREM', base .. set, member)
    elseif probe and probe ~= 'any' and (is_refused(value) or probe == 'others' and refusals.has_refused(base, id)) then
      -- It stays for a probe of a later kind.
    elseif not defer_due(plan, set, member, due[i + 1], id, spec, #order, by_job[id]) then
      if not by_job[id] then
        by_job[id] = {}
        order[#order + 1] = id
      end
      local list = by_job[id]
      if #list < size then list[#list + 1] = index end
    end
  end
  return order, by_job
end

-- Claims recipients that are due in one of the sets, in batches of one job each. Returns their number.
-- `probe`: claims one as a probe: `others`, of a job that FCM has not refused; `fresh`, that FCM has not refused itself;
-- or `any`. nil claims no probe.
function claim_due(plan, set, limit, most, probe)
  local specs, given = {}, 0
  local order, by_job = collect_due(plan, set, limit, most, specs, probe)
  for _, id in ipairs(order) do
    local indexes = by_job[id]
    given = given + #indexes
    plan.claims[#plan.claims + 1] = in_step(plan.base, id, function()
      local members = {}
      for i, index in ipairs(indexes) do members[i] = id .. '/' .. index end
      write('ZREM', plan.base .. set, unpack(members))
      return open_retry(plan, id, specs[id], indexes, probe)
    end)
  end
  return given
end

-- Claims a broadcast that must be sent again, and has the slot.
function claim_resend(plan, id, spec)
  local base = plan.base
  local taken = in_step(base, id, function()
    write('HDEL', base .. 'spec:' .. id, 'again')
    if not redis.call('HGET', base .. 'wait:' .. id, '0') then return nil end
    local retry = open_retry(plan, id, spec, { '0' }, plan.is_probe_due)
    if retry then hold_slot_for_send(base, id) end
    plan.has_probe = retry and plan.is_probe_due
    return retry
  end)
  return taken, taken and 1
end

-- Claims the waiting recipients of a job that is ending, except recipients that a worker has in a batch.
local function claim_ending_waiting(plan, id, spec)
  local base, indexes = plan.base, {}
  for _, index in ipairs(redis.call('HRANDFIELD', base .. 'wait:' .. id, BATCH) or {}) do
    if is_scheduled(base, id, index) then indexes[#indexes + 1] = index end
  end
  local is_resend = #indexes == 0 and spec.needs_resend
  if #indexes == 0 and not is_resend then return nil end
  return in_step(base, id, function()
    if is_resend then
      write('HDEL', base .. 'spec:' .. id, 'again')
      indexes = { '0' }
    else
      unschedule(base, id, indexes)
    end
    return open_retry(plan, id, spec, indexes)
  end)
end

-- Claims a batch of a job that is ending: first one without a holder, then an unclaimed one, then waiting recipients.
-- Returns the claim; nil when there is none.
function claim_ending(plan, id)
  local spec = load_spec(plan.base, id)
  if not spec then
    write('ZREM', plan.base .. 'ending', id)
    return nil
  end
  for _, list in ipairs({ 'stopped:', 'orphans:' }) do
    local taken = claim_orphan(plan, plan.base .. list .. id)
    if taken ~= false then return taken end
  end
  if tonumber(spec.next) < tonumber(spec.total) then return (claim_first_pass(plan, id, spec)) end
  return claim_ending_waiting(plan, id, spec)
end

end
