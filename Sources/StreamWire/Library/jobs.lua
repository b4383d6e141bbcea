
-- ---------------------------------------------------------------------------------------------------------------
-- Jobs: how they begin, stop, go on and end.
--
-- class: `single` (one batch), `group` (a device group), `fanout` (more than one batch) or `aimed` (a topic or a
-- condition). The last two take turns.

local QUEUES = { single = 'singles', group = 'groups', fanout = 'queue', aimed = 'queue' }

local function takes_turns(class)
  return class == 'fanout' or class == 'aimed'
end

local function enqueue(base, spec)
  redis.call('ZADD', base .. QUEUES[spec.class], 0, spec.member)
end

local function dequeue(base, spec)
  redis.call('ZREM', base .. QUEUES[spec.class], spec.member)
end

-- Something of the first pass is left that no worker holds; of an aimed job also a send that has to be made again.
local function has_first_pass(base, id, spec)
  return tonumber(spec.next) < tonumber(spec.total) or spec.again == '1'
    or (spec.class == 'fanout' and redis.call('LLEN', base .. 'orphans:' .. id) > 0)
end

-- Gives the slot up. One that FCM is busy with is kept until its time is over.
local function release_slot(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value and string.sub(value, -1) == '|' then redis.call('HDEL', base .. 'active', id) end
end

-- A job that may be sent again: its waiting retries, its orphans and its place in the queue.
local function restore(base, id, spec)
  if redis.call('EXISTS', base .. 'held:' .. id) == 1 then
    redis.call('ZUNIONSTORE', base .. 'retry', 2, base .. 'retry', base .. 'held:' .. id)
    redis.call('DEL', base .. 'held:' .. id)
  end
  if spec.class ~= 'fanout' then
    while redis.call('LMOVE', base .. 'orphans:' .. id, base .. 'orphans', 'LEFT', 'RIGHT') do end
  end
  if not redis.call('ZSCORE', base .. 'sched', id) and redis.call('SISMEMBER', base .. 'copying', id) == 0
    and has_first_pass(base, id, spec) and redis.call('HEXISTS', base .. 'active', id) == 0 then
    enqueue(base, spec)
  end
end

-- The state of a job that is neither paused nor parked nor over.
local function natural_state(base, id, spec)
  if redis.call('ZSCORE', base .. 'sched', id) then return 'scheduled' end
  local times = redis.call('HMGET', base .. 'job:' .. id, 'started_ms', 'first_pass_ms')
  if times[2] then return 'retrying' end
  if not times[1] then return 'waiting' end
  if takes_turns(spec.class) and redis.call('HEXISTS', base .. 'active', id) == 0 then return 'waiting' end
  return 'active'
end

-- Ends a job: its last state, its times, and nothing private left behind.
local function finish_job(base, id, now)
  local job = base .. 'job:' .. id
  local counters = redis.call('HMGET', job, 'cancelled', 'expired')
  local state = 'done'
  if (tonumber(counters[2]) or 0) > 0 then state = 'expired' end
  if (tonumber(counters[1]) or 0) > 0 then state = 'cancelled' end
  local spec = load_spec(base, id)
  local keep = redis.call('HGET', base .. 'spec:' .. id, 'keep')
  redis.call('HSET', job, 'state', state, 'retrying', '0', 'finished_ms', int(now))
  redis.call('HSETNX', job, 'first_pass_ms', int(now))
  redis.call('HDEL', job, 'reason')
  redis.call('PEXPIRE', job, keep)
  dequeue(base, spec)
  release_slot(base, id)
  redis.call('SREM', base .. 'jobs_open', id)
  redis.call('SREM', base .. 'blocked', id)
  redis.call('SREM', base .. 'ending', id)
  redis.call('ZREM', base .. 'expiring', id)
  redis.call('UNLINK', base .. 'spec:' .. id, base .. 'rcpt:' .. id, base .. 'copy:' .. id, base .. 'done:' .. id,
    base .. 'wait:' .. id, base .. 'held:' .. id, base .. 'orphans:' .. id, base .. 'rolled:' .. id)
end

-- A job that needs a person: evidence in `dead`, everything unfinished kept for a replay.
local function park(base, id, reason, now, evidence)
  local spec = pairs_to_map(redis.call('HGETALL', base .. 'spec:' .. id))
  if spec.parked then return end
  local entry = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', reason, 'kind', 'parked',
    'entry_id', spec.entry, 'at_ms', int(now) }
  for _, value in ipairs(evidence or {}) do entry[#entry + 1] = value end
  entry[#entry + 1] = 'f.message'
  entry[#entry + 1] = spec.message
  for name, value in pairs(spec) do
    if string.sub(name, 1, 2) == 'f.' then
      entry[#entry + 1] = name
      entry[#entry + 1] = value
    end
  end
  redis.call(unpack(entry))
  dequeue(base, spec)
  release_slot(base, id)
  redis.call('SMOVE', base .. 'jobs_open', base .. 'jobs_parked', id)
  redis.call('SREM', base .. 'blocked', id)
  redis.call('HSET', base .. 'spec:' .. id, 'parked', '1')
  redis.call('HSET', base .. 'job:' .. id, 'state', 'parked', 'reason', reason)
  tell(base, now, 'stop', id, 'parked')
end

-- Ends a job before its time: workers give each unfinished recipient its result (`cancelled` or `expired`) without a
-- send, so the slot, permits and holds do not matter any more.
local function end_job(base, id, status, now)
  local key, spec = base .. 'spec:' .. id, load_spec(base, id)
  if not spec or spec.ending then return end
  redis.call('HDEL', key, 'paused', 'parked')
  redis.call('HSET', key, 'ending', status)
  spec.paused, spec.parked = nil, nil
  redis.call('SMOVE', base .. 'jobs_parked', base .. 'jobs_open', id)
  redis.call('SREM', base .. 'blocked', id)
  redis.call('ZREM', base .. 'sched', id)
  redis.call('ZREM', base .. 'expiring', id)
  if redis.call('EXISTS', base .. 'held:' .. id) == 1 then
    redis.call('ZUNIONSTORE', base .. 'retry', 2, base .. 'retry', base .. 'held:' .. id)
    redis.call('DEL', base .. 'held:' .. id)
  end
  dequeue(base, spec)
  release_slot(base, id)
  -- An audience that is being copied ends when the copy is whole: until then its recipients are not known.
  if redis.call('SISMEMBER', base .. 'copying', id) == 0 then redis.call('SADD', base .. 'ending', id) end
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'paused' or state == 'parked' then
    redis.call('HSET', job, 'state', natural_state(base, id, spec))
    redis.call('HDEL', job, 'reason')
  end
  tell(base, now, 'end', id, status)
end
