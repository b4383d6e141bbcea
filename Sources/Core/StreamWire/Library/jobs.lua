-- Jobs: how they begin, stop, continue and end.
-- class: `single` (one batch), `group` (a device group), `managed` (no message: subscriptions and groups), `fanout`
-- (more than one batch) or BROADCAST (a topic or a condition). The last two need the slot.

-- See compact.lua and intake.lua; what concerns jobs of every kind. One local for all functions of each: Lua allows 200.
local compact, handover, jobs = {}, {}, {}

-- How many jobs are neither over nor parked.
function jobs.count_open(base)
  return redis.call('SCARD', base .. 'jobs_open') + redis.call('HLEN', base .. 'compact')
end

-- Whether a worker holds nothing of the project.
function jobs.is_empty_handed(base, worker)
  return redis.call('EXISTS', base .. 'claims:' .. worker, base .. 'compact:' .. worker) == 0
end

-- The stored name of a broadcast's class.
local BROADCAST = 'aimed'

local QUEUES = { single = 'singles', group = 'groups', managed = 'managed', fanout = 'queue', [BROADCAST] = 'queue' }

local function needs_slot(class)
  return class == 'fanout' or class == BROADCAST
end

local function enqueue(base, spec)
  write('ZADD', base .. QUEUES[spec.class], 0, spec.member)
end

local function dequeue(base, spec)
  write('ZREM', base .. QUEUES[spec.class], spec.member)
end

-- Whether a batch of the first pass is left that no worker holds, or a broadcast must be sent again.
local function has_first_pass(base, id, spec)
  return tonumber(spec.next) < tonumber(spec.total) or spec.needs_resend
    or (needs_slot(spec.class) and redis.call('LLEN', base .. 'orphans:' .. id) > 0)
end

-- Gives the slot up. A broadcast that FCM is busy with, or may be in a moment, keeps it until that is over.
local function release_slot(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value and string.sub(value, -1) == '|' then write('HDEL', base .. 'active', id) end
end

-- The sets of due times, apart by what a recipient costs: retries that the budget does not allow delay no others.
-- Management costs no sends, and a worker has room of its own for it.
local DUE_UNSENT, DUE_RETRY, DUE_FANOUT_RETRY, DUE_MANAGEMENT = 'again', 'retry', 'retry_many', 'again_managed'
local DUE_SENDS = { DUE_UNSENT, DUE_RETRY, DUE_FANOUT_RETRY }
local DUE_SETS = { DUE_UNSENT, DUE_RETRY, DUE_FANOUT_RETRY, DUE_MANAGEMENT }

-- Removes a job that ends or is paused from `blocked`. With the last one the project's block ends.
local function release_block(base, id)
  if redis.call('SISMEMBER', base .. 'blocked', id) == 0 then return end
  local is_last = redis.call('SCARD', base .. 'blocked') == 1
  write('SREM', base .. 'blocked', id)
  if is_last then
    write('HDEL', base .. 'ctl', 'block', 'block_until')
    add_mark(base, 'resume', 'no job of the block is left')
  end
end

-- Whether a value of wait:<id> has 0 attempts: the recipient was never sent, so its send is no retry.
local function is_unsent(value)
  return value and string.sub(value, 1, 2) == '0|'
end

-- The set of due times for a recipient, by its job's class and its value of wait:<id>.
local function due_set(class, value)
  if class == 'managed' then return DUE_MANAGEMENT end
  if is_unsent(value) or class == BROADCAST then return DUE_UNSENT end
  return class == 'fanout' and DUE_FANOUT_RETRY or DUE_RETRY
end

-- Removes recipients from the sets of due times.
local function unschedule(base, id, indexes)
  local members = {}
  for i, index in ipairs(indexes) do members[i] = id .. '/' .. index end
  for _, set in ipairs(DUE_SETS) do write('ZREM', base .. set, unpack(members)) end
  write('ZREM', base .. 'held:' .. id, unpack(members))
end

-- Whether a recipient waits for its due time; false when a worker has it in a batch.
local function is_scheduled(base, id, index)
  local member = id .. '/' .. index
  for _, set in ipairs(DUE_SETS) do
    if redis.call('ZSCORE', base .. set, member) then return true end
  end
  return redis.call('ZSCORE', base .. 'held:' .. id, member) and true or false
end

-- Moves a thousand due times of a resumed job back among the others. Later claims move the rest.
local function restore_held(base, id, spec)
  local held, moved = redis.call('ZRANGE', base .. 'held:' .. id, 0, 999, 'WITHSCORES'), {}
  for i = 1, #held, 2 do
    local _, index = split_name(held[i])
    local value = redis.call('HGET', base .. 'wait:' .. id, index)
    if value then write('ZADD', base .. due_set(spec.class, value), held[i + 1], id .. '/' .. index) end
    moved[#moved + 1] = held[i]
  end
  local is_all = redis.call('ZCARD', base .. 'held:' .. id) <= #moved
  if #moved > 0 then write('ZREM', base .. 'held:' .. id, unpack(moved)) end
  write(is_all and 'SREM' or 'SADD', base .. 'restoring', id)
end

-- How many workers in a row must die while they hold a batch before it is quarantined.
local CRASHES_TO_QUARANTINE = 3

-- The letter of a result in `record`, and its counter.
local LETTERS = { s = 'sent', f = 'failed', u = 'unknown', c = 'cancelled', x = 'expired' }

-- See guards.lua.
local read_guards

-- Quarantines a batch, which its job shows unless it has another reason. Part of a step.
local function quarantine_batch(base, name, crashes)
  local id, n = split_name(name)
  local job = base .. 'job:' .. id
  write('RPUSH', base .. 'suspects', name)
  local reason = redis.call('HGET', job, 'reason')
  if reason and not string.find(reason, '^quarantined: ') then return end
  local why = 'batch ' .. n .. ' took its worker down ' .. int(tonumber(crashes)) .. ' times in a row'
  write('HSET', job, 'reason', 'quarantined: ' .. why)
end

-- Puts a batch without a holder into the list from which it is claimed next. Part of a step.
-- `known`: values that the same step writes, and Redis does not have yet: `spec`, `sent`, `crashes`, `watermark`.
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
  local from, sent, crashes, watermark = unpack(redis.call('HMGET', batch, 'from', 'sent', 'crashes', 'upto'))
  sent, crashes, watermark = known.sent or sent, known.crashes or crashes, known.watermark or watermark
  -- The old holder decides nothing any more.
  write('HDEL', batch, 'epoch')
  local is_held = from and not sent and spec.guarded and (read_guards(base, id, spec) or {}).canary_held
  if spec.paused or spec.parked or spec.ending or is_held then
    write('RPUSH', base .. 'stopped:' .. id, name)
    if spec.ending then write('ZADD', base .. 'ending', int(now), id) end
  elseif (tonumber(crashes) or 0) >= CRASHES_TO_QUARANTINE then
    quarantine_batch(base, name, crashes)
  elseif (spec.class == 'fanout' and from and not sent) or (spec.class == BROADCAST and watermark == '0') then
    write('RPUSH', base .. 'orphans:' .. id, name)
    -- It needs the slot, as an unclaimed batch does. A broadcast that was not sent keeps the slot that it has.
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

-- Moves a job's waiting retries and stopped batches back, and queues it again unless its canary is held. Part of a step.
-- `known`: see orphan; also `copying`: whether its audience is still being copied.
local function restore(base, id, spec, now, known)
  known = known or {}
  known.spec = spec
  restore_held(base, id, spec)
  local stopped = redis.call('LRANGE', base .. 'stopped:' .. id, 0, -1)
  write('DEL', base .. 'stopped:' .. id)
  for _, name in ipairs(stopped) do orphan(base, name, now, known) end
  if (read_guards(base, id, spec) or {}).canary_held then return end
  local copying = known.copying
  if copying == nil then copying = redis.call('SISMEMBER', base .. 'copying', id) == 1 end
  if not redis.call('ZSCORE', base .. 'sched', id) and not copying
    and has_first_pass(base, id, spec) and redis.call('HEXISTS', base .. 'active', id) == 0 then
    enqueue(base, spec)
  end
end

-- The state of a job that is neither paused nor parked nor over. `is_begun`: the same step removes it from `sched`.
local function running_state(base, id, spec, is_begun)
  if not is_begun and redis.call('ZSCORE', base .. 'sched', id) then return 'scheduled' end
  local started_ms, first_pass_ms = unpack(redis.call('HMGET', base .. 'job:' .. id, 'started_ms', 'first_pass_ms'))
  if first_pass_ms then return 'retrying' end
  if not started_ms then return 'waiting' end
  if needs_slot(spec.class) and redis.call('HEXISTS', base .. 'active', id) == 0 then return 'waiting' end
  return 'active'
end

-- Writes the state of a job that nobody pauses but its canary. Part of a step. Returns the state.
local function write_free_state(base, id, spec)
  local job, guards = base .. 'job:' .. id, read_guards(base, id, spec)
  if guards and guards.canary_held then
    write('HSET', job, 'state', 'paused', 'reason', 'canary')
    pauses.add(base, id, 'canary')
    return 'paused'
  end
  pauses.remove(base, id)
  local state = running_state(base, id, spec)
  write('HSET', job, 'state', state)
  write('HDEL', job, 'reason')
  return state
end

-- Whether a job may be in a queue or a list of jobs. Usually none of these keys exists, and a single EXISTS decides.
local function may_be_listed(base, id, class)
  return redis.call('EXISTS', base .. QUEUES[class], base .. 'jobs_parked', base .. 'blocked', base .. 'restoring',
    base .. 'ending', base .. 'expiring', base .. 'orphans:' .. id, base .. 'stopped:' .. id) > 0
end

-- The last fields of a job's hash, as pairs. `known`: see finish_job; `counters`: further pairs.
local function final_fields(known, wall, counters)
  local state = 'done'
  if (tonumber(known.expired) or 0) > 0 then state = 'expired' end
  if (tonumber(known.cancelled) or 0) > 0 then state = 'cancelled' end
  return 'state', state, 'retrying', '0', 'finished_ms', wall, 'first_pass_ms', known.first_pass_ms or wall,
    unpack(counters or {})
end

-- Removes a guarded job that ends from what its guards wait for: a later job may have its id. Part of a step.
local function forget_waits(base, id)
  write('ZREM', base .. 'later', id)
  write('SREM', base .. 'closed_windows', id)
end

-- Removes a job from the queues and lists that it may be in, and its batches without a holder. Part of a step.
local function remove_from_lists(base, id, spec)
  dequeue(base, spec)
  -- The last result of a parked job may come from a worker that was declared dead.
  for _, set in ipairs({ 'jobs_parked', 'blocked', 'restoring' }) do write('SREM', base .. set, id) end
  for _, set in ipairs({ 'ending', 'expiring' }) do write('ZREM', base .. set, id) end
  for _, list in ipairs({ 'orphans:', 'stopped:' }) do
    for _, name in ipairs(redis.call('LRANGE', base .. list .. id, 0, -1)) do write('DEL', base .. 'b:' .. name) end
  end
end

-- Ends a job: writes its last state and times, and removes its private keys. Part of a step.
-- `known`: of the job's hash: cancelled, expired, first_pass_ms, reason; `spec`: its member, class, keep, total and guarded.
-- `last`: `counters`: see final_fields; `batch`: the key of its last batch; `is_listed`: this step puts it into a list;
-- `is_untried`: no result of it has an attempt, so its id is free; the hash says so where a producer gave it.
local function finish_job(base, id, known, spec, last)
  local job, spec_key, wall = base .. 'job:' .. id, base .. 'spec:' .. id, int(wall_ms())
  write('HSET', job, final_fields(known, wall, last.counters))
  if known.reason or known.pace then write('HDEL', job, 'reason', 'pace') end
  if known.reason then pauses.remove(base, id) end
  write('PEXPIRE', job, spec.keep)
  if is_listed_when_over(id, spec) then list_finished(base, { wall, id }) end
  write('SREM', base .. 'jobs_open', id)
  if last.is_untried then
    write('DEL', base .. 'seen:' .. id)
    if has_own_id(id, spec) then write('HSET', job, 'id_free', '1') end
  end
  if needs_slot(spec.class) then
    local turn = redis.call('HGET', base .. 'active', id)
    if turn and not string.match(turn, '%d$') then write('HDEL', base .. 'active', id) end
  end
  if spec.class == 'group' then write('SREM', base .. 'groups_on', id) end
  if spec.guarded then forget_waits(base, id) end
  if last.is_listed or may_be_listed(base, id, spec.class) then remove_from_lists(base, id, spec) end
  write('UNLINK', spec_key, base .. 'rcpt:' .. id, base .. 'copy:' .. id, base .. 'done:' .. id, base .. 'wait:' .. id,
    base .. 'held:' .. id, base .. 'orphans:' .. id, base .. 'stopped:' .. id, base .. 'rolled:' .. id,
    base .. 'crashed:' .. id, last.batch or spec_key)
end

-- Ends a job by its counters alone: `count` recipients get `status` and no result. Part of a step.
local function finish_by_counters(base, id, status, count, reason)
  local job = base .. 'job:' .. id
  local known = read_fields(job, { 'cancelled', 'expired', 'first_pass_ms', 'reason', 'pace', status })
  local spec = read_fields(base .. 'spec:' .. id, { 'member', 'class', 'keep', 'total', 'guarded' })
  known[status] = (tonumber(known[status]) or 0) + count
  finish_job(base, id, known, spec, { counters = { status, int(known[status]) } })
  write('HSET', base .. 'tally', status, int((tonumber(redis.call('HGET', base .. 'tally', status)) or 0) + count))
  write('HSET', job, 'reason', reason)
end

-- Ends a job that is ending already and would be parked, as `poison` by its counters alone. Part of a step.
local function end_anyway(base, id, status, poison, now)
  write('SREM', base .. 'copying', id)
  write('ZADD', base .. 'ending', int(now), id)
  if not poison then return end
  local left = tonumber(redis.call('HGET', base .. 'spec:' .. id, 'left'))
  write('HSET', base .. 'ctl', 'left', int((tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0) - left))
  finish_by_counters(base, id, status, left, 'poison: its unfinished recipients are counted and have no result')
end

-- Parks a job that needs an operator: adds the evidence to `dead`, and keeps its unfinished recipients for a replay. A
-- step of its own. `evidence`: pairs for the entry; `also`: a function that adds writes to the step.
local function park(base, id, reason, now, evidence, also)
  local spec = pairs_to_map(redis.call('HGETALL', base .. 'spec:' .. id))
  if spec.parked then return end
  if spec.ending then return in_step(base, id, end_anyway, base, id, spec.ending, evidence ~= nil, now) end
  local entry = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', reason, 'kind', 'parked',
    'entry_id', spec.entry, 'at_ms', int(wall_ms()) }
  for _, value in ipairs(evidence or {}) do entry[#entry + 1] = value end
  add_pair(entry, 'f.message', spec.message)
  if spec.variants then add_pair(entry, 'f.variants', spec.variants) end
  for name, value in pairs(spec) do
    if string.sub(name, 1, 2) == 'f.' then add_pair(entry, name, value) end
  end
  check_rights(base, 'park')
  local dead = redis.call(unpack(entry))
  in_step(base, id, function()
    dequeue(base, spec)
    release_slot(base, id)
    if also then also() end
    for _, set in ipairs({ 'jobs_open', 'blocked', 'copying' }) do write('SREM', base .. set, id) end
    write('SADD', base .. 'jobs_parked', id)
    pauses.remove(base, id)
    write('HSET', base .. 'spec:' .. id, 'parked', '1', 'dead', dead)
    write('HSET', base .. 'job:' .. id, 'state', 'parked', 'reason', reason)
    -- Workers stop batches up to this epoch; later ones were claimed after a replay.
    append_news(base, 'stop', id, next_epoch(base, now))
    append_news(base, 'parked', id, reason)
  end)
end

-- Ends a job before its time: workers write `status` for each unfinished recipient, without a send. Part of a step.
local function decide_end(base, id, status, now)
  local key, spec = base .. 'spec:' .. id, load_spec(base, id)
  if not spec or spec.ending then return end
  -- Nothing of it is left to replay. At its expiry the evidence stays, which perhaps no operator has seen.
  local dead = status == 'cancelled' and spec.parked and redis.call('HGET', key, 'dead')
  if dead then write('XDEL', base .. 'dead', dead) end
  write('HDEL', key, 'paused', 'parked', 'dead', 'canary_held', 'canary_until')
  if spec.guarded then forget_waits(base, id) end
  write('HSET', key, 'ending', status)
  spec.paused, spec.parked = nil, nil
  for _, set in ipairs({ 'jobs_parked', 'restoring' }) do write('SREM', base .. set, id) end
  for _, set in ipairs({ 'sched', 'expiring' }) do write('ZREM', base .. set, id) end
  write('SADD', base .. 'jobs_open', id)
  pauses.remove(base, id)
  release_block(base, id)
  -- Its batches without a holder may stand among batches of other jobs that cannot continue now.
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
  -- A job whose audience is being copied ends when the copy is complete: until then its recipients are not known.
  if redis.call('SISMEMBER', base .. 'copying', id) == 0 then write('ZADD', base .. 'ending', int(now), id) end
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'paused' or state == 'parked' then
    write('HSET', job, 'state', running_state(base, id, spec, true))
    write('HDEL', job, 'reason')
  end
  append_news(base, 'end', id, status)
end

local function end_job(base, id, status, now)
  in_step(base, id, decide_end, base, id, status, now)
end
