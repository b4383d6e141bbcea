
-- ---------------------------------------------------------------------------------------------------------------
-- Jobs: how they begin, stop, go on and end.
--
-- class: `single` (one batch), `group` (a device group), `managed` (no message: subscriptions and groups), `fanout` (more
-- than one batch) or `aimed` (a topic or a condition). The last two take turns.

local QUEUES = { single = 'singles', group = 'groups', managed = 'managed', fanout = 'queue', aimed = 'queue' }

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
    or (takes_turns(spec.class) and redis.call('LLEN', base .. 'orphans:' .. id) > 0)
end

-- Gives the slot up. A topic that FCM is busy with, or may be in a moment, keeps it until that is over.
local function release_slot(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value and string.sub(value, -1) == '|' then redis.call('HDEL', base .. 'active', id) end
end

-- Retries are kept apart by what they cost, so that those which the budget does not allow stand in nobody's way. Those of
-- management cost no sends, and a worker has room of its own for them.
local WAITING_SENDS = { 'again', 'retry', 'retry_many' }
local WAITING = { 'again', 'retry', 'retry_many', 'again_managed' }

-- The job ends or is paused. When it was the last that the block stopped, the block goes with it: the next send tries.
local function release_block(base, id)
  if redis.call('SREM', base .. 'blocked', id) == 1 and redis.call('EXISTS', base .. 'blocked') == 0 then
    redis.call('HDEL', base .. 'ctl', 'block', 'block_until')
  end
end

local function schedule(base, id, spec_class, index, value, due)
  local set = 'retry'
  if spec_class == 'managed' then
    set = 'again_managed'
  elseif string.sub(value, 1, 2) == '0|' or spec_class == 'aimed' then
    set = 'again'
  elseif spec_class == 'fanout' then
    set = 'retry_many'
  end
  redis.call('ZADD', base .. set, due, id .. '/' .. index)
end

-- Returns true when the recipient was waiting, and not in a worker's hands.
local function unschedule(base, id, index)
  local member = id .. '/' .. index
  for _, set in ipairs(WAITING) do
    if redis.call('ZREM', base .. set, member) == 1 then return true end
  end
  return redis.call('ZREM', base .. 'held:' .. id, member) == 1
end

-- Moves retries of a job that goes on back among the others; a million of them must not hold the server, so it is
-- done in steps by the claims that follow.
local function unhold(base, id, spec)
  local held = redis.call('ZRANGE', base .. 'held:' .. id, 0, 999, 'WITHSCORES')
  for i = 1, #held, 2 do
    local _, index = split_name(held[i])
    local value = redis.call('HGET', base .. 'wait:' .. id, index)
    if value then schedule(base, id, spec.class, index, value, held[i + 1]) end
  end
  if #held > 0 then redis.call('ZREMRANGEBYRANK', base .. 'held:' .. id, 0, #held / 2 - 1) end
  if redis.call('EXISTS', base .. 'held:' .. id) == 1 then
    redis.call('SADD', base .. 'restoring', id)
  else
    redis.call('SREM', base .. 'restoring', id)
  end
end

local SUSPECT = 3

-- The letter of a result in `record`, and its counter.
local LETTERS = { s = 'sent', f = 'failed', u = 'unknown', c = 'cancelled', x = 'expired' }

-- A batch without a holder: back to where the next one is taken from.
local function orphan(base, name, now)
  local id = split_name(name)
  local batch = base .. 'b:' .. name
  local spec = load_spec(base, id)
  if not spec then
    redis.call('DEL', batch)
    redis.call('SREM', base .. 'groups_on', id)
    return
  end
  local facts = redis.call('HMGET', batch, 'from', 'sent', 'crashes', 'upto')
  -- Whoever held it decides nothing any more, also before somebody else takes it.
  redis.call('HDEL', batch, 'epoch')
  if spec.paused or spec.parked or spec.ending then
    redis.call('RPUSH', base .. 'stopped:' .. id, name)
    if spec.ending then redis.call('ZADD', base .. 'ending', int(now), id) end
  elseif (tonumber(facts[3]) or 0) >= SUSPECT then
    redis.call('RPUSH', base .. 'suspects', name)
  elseif (spec.class == 'fanout' and facts[1] and not facts[2]) or (spec.class == 'aimed' and facts[4] == '0') then
    redis.call('RPUSH', base .. 'orphans:' .. id, name)
    -- It needs its turn, like what was never claimed. A topic's send that did not begin leaves the turn that it has.
    local turn = redis.call('HGET', base .. 'active', id)
    if not turn then
      enqueue(base, spec)
    elseif string.sub(turn, -1) == '?' then
      redis.call('HSET', base .. 'active', id, string.sub(turn, 1, -2))
    end
  else
    redis.call('RPUSH', base .. 'orphans', name)
  end
end

-- A job that may be sent again: its waiting retries, its orphans and its place in the queue.
local function restore(base, id, spec, now)
  unhold(base, id, spec)
  for _, name in ipairs(redis.call('LRANGE', base .. 'stopped:' .. id, 0, -1)) do orphan(base, name, now) end
  redis.call('DEL', base .. 'stopped:' .. id)
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
-- `last`: nil: all of it is read and written here; else of the call that has just written its last result: `spec`
--   (member, class and keep), `batch` (the key of the batch that ends with the job), `common`, `letter` and `count` of a
--   job of one (its status, which is written here), and `is_bare` when nothing private is left of it but the spec, the
--   recipient and that batch.
local function finish_job(base, id, last)
  last = last or {}
  local job, spec_key, common = base .. 'job:' .. id, base .. 'spec:' .. id, last.common
  local known = redis.call('HMGET', job, 'cancelled', 'expired', 'first_pass_ms', 'reason')
  local spec = last.spec or redis.call('HMGET', spec_key, 'member', 'class', 'keep')
  local class, state, own = spec[2], 'done', {}
  local wall = common and common.ended_at or int(now_ms())
  if common then common.ended_at = wall end
  if last.letter == 'x' or (tonumber(known[2]) or 0) > 0 then state = 'expired' end
  if last.letter == 'c' or (tonumber(known[1]) or 0) > 0 then state = 'cancelled' end
  if last.letter then own = { LETTERS[last.letter], int(last.count) } end
  redis.call('HSET', job, 'state', state, 'retrying', '0', 'finished_ms', wall, 'first_pass_ms', known[3] or wall,
    unpack(own))
  if known[4] then redis.call('HDEL', job, 'reason') end
  redis.call('PEXPIRE', job, spec[3])
  if common then note_for_end(common, 'closed', 'all', id) else redis.call('SREM', base .. 'jobs_open', id) end
  if takes_turns(class) then
    local turn = redis.call('HGET', base .. 'active', id)
    if turn and not string.match(turn, '%d$') then redis.call('HDEL', base .. 'active', id) end
  end
  if class == 'group' then redis.call('SREM', base .. 'groups_on', id) end
  local orphans, stopped = base .. 'orphans:' .. id, base .. 'stopped:' .. id
  -- As a rule there is none of these, which one question tells; bare jobs of one class that end in one call ask it once.
  local is_listed = common and common.is_listed and common.is_listed[class]
  if is_listed == nil or not last.is_bare then
    is_listed = redis.call('EXISTS', base .. QUEUES[class], base .. 'jobs_parked', base .. 'blocked',
      base .. 'restoring', base .. 'ending', base .. 'expiring', orphans, stopped) > 0
    if last.is_bare then
      common.is_listed = common.is_listed or {}
      common.is_listed[class] = is_listed
    end
  end
  if is_listed then
    dequeue(base, { member = spec[1], class = class })
    -- Parked, it may be over all the same: with what a worker knew that was taken for dead.
    redis.call('SREM', base .. 'jobs_parked', id)
    redis.call('SREM', base .. 'blocked', id)
    redis.call('SREM', base .. 'restoring', id)
    redis.call('ZREM', base .. 'ending', id)
    redis.call('ZREM', base .. 'expiring', id)
    for _, list in ipairs({ orphans, stopped }) do
      for _, name in ipairs(redis.call('LRANGE', list, 0, -1)) do redis.call('DEL', base .. 'b:' .. name) end
    end
  end
  if last.is_bare then
    redis.call('UNLINK', spec_key, base .. 'rcpt:' .. id, last.batch or spec_key)
  else
    redis.call('UNLINK', spec_key, base .. 'rcpt:' .. id, base .. 'copy:' .. id, base .. 'done:' .. id,
      base .. 'wait:' .. id, base .. 'held:' .. id, orphans, stopped, base .. 'rolled:' .. id, base .. 'crashed:' .. id,
      last.batch or spec_key)
  end
end

-- A job that is ending needs nobody, whatever was found wrong with it: it ends with what is there. One whose batch
-- takes workers down even so is closed by its counters alone.
local function end_anyway(base, id, status, poison, now)
  redis.call('SREM', base .. 'copying', id)
  redis.call('ZADD', base .. 'ending', int(now), id)
  if not poison then return end
  local left = redis.call('HGET', base .. 'spec:' .. id, 'left')
  redis.call('HINCRBY', base .. 'job:' .. id, status, left)
  redis.call('HINCRBY', base .. 'tally', status, left)
  redis.call('HINCRBY', base .. 'ctl', 'left', int(0 - tonumber(left)))
  finish_job(base, id)
  redis.call('HSET', base .. 'job:' .. id, 'reason', 'poison: its unfinished recipients are counted and have no result')
end

-- A job that needs a person: evidence in `dead`, everything unfinished kept for a replay.
local function park(base, id, reason, now, evidence)
  local spec = pairs_to_map(redis.call('HGETALL', base .. 'spec:' .. id))
  if spec.parked then return end
  if spec.ending then return end_anyway(base, id, spec.ending, evidence ~= nil, now) end
  local entry = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', reason, 'kind', 'parked',
    'entry_id', spec.entry, 'at_ms', int(now_ms()) }
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
  -- Batches with a later epoch were claimed after a replay.
  tell(base, 'stop', id, next_epoch(base, now))
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
  release_block(base, id)
  redis.call('ZREM', base .. 'sched', id)
  redis.call('ZREM', base .. 'expiring', id)
  redis.call('SREM', base .. 'restoring', id)
  -- What a dead worker left of it may stand among others' that cannot go on now.
  for _, list in ipairs({ 'orphans', 'suspects' }) do
    for _, name in ipairs(redis.call('LRANGE', base .. list, 0, 19999)) do
      if split_name(name) == id then
        redis.call('LREM', base .. list, 0, name)
        redis.call('RPUSH', base .. 'stopped:' .. id, name)
      end
    end
  end
  dequeue(base, spec)
  release_slot(base, id)
  -- An audience that is being copied ends when the copy is whole: until then its recipients are not known.
  if redis.call('SISMEMBER', base .. 'copying', id) == 0 then redis.call('ZADD', base .. 'ending', int(now), id) end
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'paused' or state == 'parked' then
    redis.call('HSET', job, 'state', natural_state(base, id, spec))
    redis.call('HDEL', job, 'reason')
  end
  tell(base, 'end', id, status)
end
