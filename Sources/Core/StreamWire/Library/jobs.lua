
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
  write('ZADD', base .. QUEUES[spec.class], 0, spec.member)
end

local function dequeue(base, spec)
  write('ZREM', base .. QUEUES[spec.class], spec.member)
end

-- Something of the first pass is left that no worker holds; of an aimed job also a send that has to be made again.
local function has_first_pass(base, id, spec)
  return tonumber(spec.next) < tonumber(spec.total) or spec.again == '1'
    or (takes_turns(spec.class) and redis.call('LLEN', base .. 'orphans:' .. id) > 0)
end

-- Gives the slot up. A topic that FCM is busy with, or may be in a moment, keeps it until that is over.
local function release_slot(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value and string.sub(value, -1) == '|' then write('HDEL', base .. 'active', id) end
end

-- Retries are kept apart by what they cost, so that those which the budget does not allow stand in nobody's way. Those of
-- management cost no sends, and a worker has room of its own for them.
local WAITING_SENDS = { 'again', 'retry', 'retry_many' }
local WAITING = { 'again', 'retry', 'retry_many', 'again_managed' }

-- Removes a job that ends or is paused from `blocked`. If it was the last one there, the project's block ends and the
-- next send is tried.
local function release_block(base, id)
  if redis.call('SISMEMBER', base .. 'blocked', id) == 0 then return end
  local is_last = redis.call('SCARD', base .. 'blocked') == 1
  write('SREM', base .. 'blocked', id)
  if is_last then write('HDEL', base .. 'ctl', 'block', 'block_until') end
end

local function waiting_set(spec_class, value)
  if spec_class == 'managed' then return 'again_managed' end
  if string.sub(value, 1, 2) == '0|' or spec_class == 'aimed' then return 'again' end
  return spec_class == 'fanout' and 'retry_many' or 'retry'
end

local function schedule(base, id, spec_class, index, value, due)
  write('ZADD', base .. waiting_set(spec_class, value), due, id .. '/' .. index)
end

-- Removes recipients from the sets of due times.
local function unschedule(base, id, indexes)
  local members = {}
  for i, index in ipairs(indexes) do members[i] = id .. '/' .. index end
  for _, set in ipairs(WAITING) do write('ZREM', base .. set, unpack(members)) end
  write('ZREM', base .. 'held:' .. id, unpack(members))
end

-- Whether a recipient waits for its due time; false when a worker has it in a batch.
local function is_scheduled(base, id, index)
  local member = id .. '/' .. index
  for _, set in ipairs(WAITING) do
    if redis.call('ZSCORE', base .. set, member) then return true end
  end
  return redis.call('ZSCORE', base .. 'held:' .. id, member) and true or false
end

-- Moves retries of a job that goes on back among the others; a million of them must not hold the server, so it is
-- done in steps by the claims that follow.
local function unhold(base, id, spec)
  local held, moved = redis.call('ZRANGE', base .. 'held:' .. id, 0, 999, 'WITHSCORES'), {}
  for i = 1, #held, 2 do
    local _, index = split_name(held[i])
    local value = redis.call('HGET', base .. 'wait:' .. id, index)
    if value then schedule(base, id, spec.class, index, value, held[i + 1]) end
    moved[#moved + 1] = held[i]
  end
  local is_all = redis.call('ZCARD', base .. 'held:' .. id) <= #moved
  if #moved > 0 then write('ZREM', base .. 'held:' .. id, unpack(moved)) end
  write(is_all and 'SREM' or 'SADD', base .. 'restoring', id)
end

local SUSPECT = 3

-- The letter of a result in `record`, and its counter.
local LETTERS = { s = 'sent', f = 'failed', u = 'unknown', c = 'cancelled', x = 'expired' }

-- Puts a batch without a holder into the list from which it is claimed next. Part of a step.
-- `known`: values that the same step writes, and Redis does not have yet: `spec` (as it will be), `sent`, `crashes`,
-- `upto`.
local function orphan(base, name, now, known)
  known = known or {}
  local id = split_name(name)
  local batch = base .. 'b:' .. name
  local spec = known.spec or load_spec(base, id)
  if not spec then
    write('DEL', batch)
    write('SREM', base .. 'groups_on', id)
    return
  end
  local facts = redis.call('HMGET', batch, 'from', 'sent', 'crashes', 'upto')
  facts[2], facts[3], facts[4] = known.sent or facts[2], known.crashes or facts[3], known.upto or facts[4]
  -- Whoever held it decides nothing any more, also before somebody else takes it.
  write('HDEL', batch, 'epoch')
  if spec.paused or spec.parked or spec.ending then
    write('RPUSH', base .. 'stopped:' .. id, name)
    if spec.ending then write('ZADD', base .. 'ending', int(now), id) end
  elseif (tonumber(facts[3]) or 0) >= SUSPECT then
    write('RPUSH', base .. 'suspects', name)
  elseif (spec.class == 'fanout' and facts[1] and not facts[2]) or (spec.class == 'aimed' and facts[4] == '0') then
    write('RPUSH', base .. 'orphans:' .. id, name)
    -- It needs its turn, like what was never claimed. A topic's send that did not begin leaves the turn that it has.
    local turn = redis.call('HGET', base .. 'active', id)
    if not turn then
      enqueue(base, spec)
    elseif string.sub(turn, -1) == '?' then
      write('HSET', base .. 'active', id, string.sub(turn, 1, -2))
    end
  else
    write('RPUSH', base .. 'orphans', name)
  end
end

-- Makes a job claimable again: moves back its waiting retries, its stopped batches and its place in the queue. Part of
-- a step. `known`: see orphan; also `copying`: whether its audience is still being copied.
local function restore(base, id, spec, now, known)
  known = known or {}
  known.spec = spec
  unhold(base, id, spec)
  local stopped = redis.call('LRANGE', base .. 'stopped:' .. id, 0, -1)
  write('DEL', base .. 'stopped:' .. id)
  for _, name in ipairs(stopped) do orphan(base, name, now, known) end
  local copying = known.copying
  if copying == nil then copying = redis.call('SISMEMBER', base .. 'copying', id) == 1 end
  if not redis.call('ZSCORE', base .. 'sched', id) and not copying
    and has_first_pass(base, id, spec) and redis.call('HEXISTS', base .. 'active', id) == 0 then
    enqueue(base, spec)
  end
end

-- The state of a job that is neither paused nor parked nor over. `is_begun`: the same step removes it from `sched`.
local function natural_state(base, id, spec, is_begun)
  if not is_begun and redis.call('ZSCORE', base .. 'sched', id) then return 'scheduled' end
  local times = redis.call('HMGET', base .. 'job:' .. id, 'started_ms', 'first_pass_ms')
  if times[2] then return 'retrying' end
  if not times[1] then return 'waiting' end
  if takes_turns(spec.class) and redis.call('HEXISTS', base .. 'active', id) == 0 then return 'waiting' end
  return 'active'
end

-- Whether a job may be in a queue, or in a list of parked, blocked, restoring, ending or expiring jobs. Usually none of
-- these keys exists, and a single EXISTS decides.
local function is_listed(base, id, class)
  return redis.call('EXISTS', base .. QUEUES[class], base .. 'jobs_parked', base .. 'blocked', base .. 'restoring',
    base .. 'ending', base .. 'expiring', base .. 'orphans:' .. id, base .. 'stopped:' .. id) > 0
end

-- The last fields of a job's hash, as name, value pairs.
-- `known`: its cancelled, expired, first_pass_ms and reason; `counters`: further pairs.
local function final_fields(known, wall, counters)
  local state = 'done'
  if (tonumber(known[2]) or 0) > 0 then state = 'expired' end
  if (tonumber(known[1]) or 0) > 0 then state = 'cancelled' end
  return 'state', state, 'retrying', '0', 'finished_ms', wall, 'first_pass_ms', known[3] or wall, unpack(counters or {})
end

-- Ends a job: writes its last state and times, and removes its private keys. Part of a step.
-- `last`: values that the caller knows: `known` and `counters`, see final_fields; `batch`: the key of the batch that
-- ends with the job; `spec`: member, class and keep; `is_listed`: true if the same step puts the job into a list.
local function finish_job(base, id, last)
  last = last or {}
  local job, spec_key = base .. 'job:' .. id, base .. 'spec:' .. id
  local known = last.known or redis.call('HMGET', job, 'cancelled', 'expired', 'first_pass_ms', 'reason')
  local spec = last.spec or redis.call('HMGET', spec_key, 'member', 'class', 'keep')
  local class = spec[2]
  write('HSET', job, final_fields(known, int(now_ms()), last.counters))
  if known[4] then write('HDEL', job, 'reason') end
  write('PEXPIRE', job, spec[3])
  write('SREM', base .. 'jobs_open', id)
  if takes_turns(class) then
    local turn = redis.call('HGET', base .. 'active', id)
    if turn and not string.match(turn, '%d$') then write('HDEL', base .. 'active', id) end
  end
  if class == 'group' then write('SREM', base .. 'groups_on', id) end
  local orphans, stopped = base .. 'orphans:' .. id, base .. 'stopped:' .. id
  if last.is_listed or is_listed(base, id, class) then
    dequeue(base, { member = spec[1], class = class })
    -- Parked, it may be over all the same: with what a worker knew that was taken for dead.
    write('SREM', base .. 'jobs_parked', id)
    write('SREM', base .. 'blocked', id)
    write('SREM', base .. 'restoring', id)
    write('ZREM', base .. 'ending', id)
    write('ZREM', base .. 'expiring', id)
    for _, list in ipairs({ orphans, stopped }) do
      for _, name in ipairs(redis.call('LRANGE', list, 0, -1)) do write('DEL', base .. 'b:' .. name) end
    end
  end
  write('UNLINK', spec_key, base .. 'rcpt:' .. id, base .. 'copy:' .. id, base .. 'done:' .. id,
    base .. 'wait:' .. id, base .. 'held:' .. id, orphans, stopped, base .. 'rolled:' .. id, base .. 'crashed:' .. id,
    last.batch or spec_key)
end

-- Ends a job by its counters alone: `count` recipients get `status` and no result. Part of a step.
local function finish_by_counters(base, id, status, count, reason)
  local job = base .. 'job:' .. id
  local known = redis.call('HMGET', job, 'cancelled', 'expired', 'first_pass_ms', 'reason', status)
  local total = (tonumber(known[5]) or 0) + count
  if status == 'cancelled' then known[1] = total elseif status == 'expired' then known[2] = total end
  finish_job(base, id, { known = known, counters = { status, int(total) } })
  write('HSET', base .. 'tally', status, int((tonumber(redis.call('HGET', base .. 'tally', status)) or 0) + count))
  write('HSET', job, 'reason', reason)
end

-- Ends a job that is ending already and would be parked. A job whose batch takes workers down (`poison`) is closed by
-- its counters alone. Part of a step.
local function end_anyway(base, id, status, poison, now)
  write('SREM', base .. 'copying', id)
  write('ZADD', base .. 'ending', int(now), id)
  if not poison then return end
  local left = tonumber(redis.call('HGET', base .. 'spec:' .. id, 'left'))
  write('HSET', base .. 'ctl', 'left', int((tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0) - left))
  finish_by_counters(base, id, status, left, 'poison: its unfinished recipients are counted and have no result')
end

-- Parks a job that needs a person: adds the evidence to `dead`, and keeps everything unfinished for a replay.
-- A step of its own. `also`: a function that adds writes to it.
local function park(base, id, reason, now, evidence, also)
  local spec = pairs_to_map(redis.call('HGETALL', base .. 'spec:' .. id))
  if spec.parked then return end
  if spec.ending then return in_step(base, id, end_anyway, base, id, spec.ending, evidence ~= nil, now) end
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
  may(base, 'park')
  redis.call(unpack(entry))
  in_step(base, id, function()
    dequeue(base, spec)
    release_slot(base, id)
    if also then also() end
    write('SREM', base .. 'jobs_open', id)
    write('SADD', base .. 'jobs_parked', id)
    write('SREM', base .. 'blocked', id)
    write('SREM', base .. 'copying', id)
    write('HSET', base .. 'spec:' .. id, 'parked', '1')
    write('HSET', base .. 'job:' .. id, 'state', 'parked', 'reason', reason)
    -- Workers stop batches up to this epoch; later ones were claimed after a replay.
    tell(base, 'stop', id, next_epoch(base, now))
  end)
end

-- Ends a job before its time: workers give each unfinished recipient its result (`cancelled` or `expired`) without a
-- send, so the slot, permits and holds do not matter any more. Part of a step.
local function decide_end(base, id, status, now)
  local key, spec = base .. 'spec:' .. id, load_spec(base, id)
  if not spec or spec.ending then return end
  write('HDEL', key, 'paused', 'parked')
  write('HSET', key, 'ending', status)
  spec.paused, spec.parked = nil, nil
  write('SREM', base .. 'jobs_parked', id)
  write('SADD', base .. 'jobs_open', id)
  release_block(base, id)
  write('ZREM', base .. 'sched', id)
  write('ZREM', base .. 'expiring', id)
  write('SREM', base .. 'restoring', id)
  -- What a dead worker left of it may stand among others' that cannot go on now.
  for _, list in ipairs({ 'orphans', 'suspects' }) do
    for _, name in ipairs(redis.call('LRANGE', base .. list, 0, 19999)) do
      if split_name(name) == id then
        write('LREM', base .. list, 0, name)
        write('RPUSH', base .. 'stopped:' .. id, name)
      end
    end
  end
  dequeue(base, spec)
  release_slot(base, id)
  -- An audience that is being copied ends when the copy is whole: until then its recipients are not known.
  if redis.call('SISMEMBER', base .. 'copying', id) == 0 then write('ZADD', base .. 'ending', int(now), id) end
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'paused' or state == 'parked' then
    write('HSET', job, 'state', natural_state(base, id, spec, true))
    write('HDEL', job, 'reason')
  end
  tell(base, 'end', id, status)
end

local function end_job(base, id, status, now)
  in_step(base, id, decide_end, base, id, status, now)
end
