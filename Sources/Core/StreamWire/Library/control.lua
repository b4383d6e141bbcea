-- Calls of operators. A call about a job answers 'missing', or 'over' or 'ok' with the job's `state`.

local cancel, cancel_entry, pause, resume, pause_project, resume_project, replay, drop, overview, trim,
  remove_idle_consumers
do

local OVER = { done = true, cancelled = true, expired = true, rejected = true }

local function ok_reply(state)
  return { 'outcome', 'ok', 'state', state }
end

-- The spec of a job that is not over, and its state; nil and a reply for any other.
local function find_job(base, id)
  local state = redis.call('HGET', base .. 'job:' .. id, 'state')
  if not state then return nil, 'missing' end
  local spec = load_spec(base, id)
  if OVER[state] or not spec then return nil, { 'outcome', 'over', 'state', state } end
  return spec, state
end

-- cancel: ends a job; each recipient without a result gets `cancelled`, or `unknown` if it may have been reached.
function cancel(base, args)
  local id = unpack(args, 1, 1)
  local spec, reply = find_job(base, id)
  if not spec then
    -- Frees the slot of a broadcast whose audience was estimated too large.
    redis.call('HDEL', base .. 'active', id)
    return reply
  end
  end_job(base, id, 'cancelled', project_ms(base))
  return ok_reply(redis.call('HGET', base .. 'job:' .. id, 'state'))
end

-- cancel_entry: cancels a job that is still an entry of `jobs`; it ends as soon as a worker takes it.
-- `id`: the job's or the entry's; `behind`: the entry to search behind ('-' = from the first).
-- Returns 'ok', 'missing', or 'more' and the `entry` to go on behind: entries may be large, so a call reads a few.
function cancel_entry(base, args)
  local id, behind = unpack(args, 1, 2)
  local jobs = base .. 'jobs'
  if string.match(id, '^%d+%-%d+$') and #redis.call('XRANGE', jobs, id, id) == 1 then
    redis.call('SADD', base .. 'unwanted', id)
    return 'ok'
  end
  local entries, last = redis.call('XRANGE', jobs, behind == '-' and behind or '(' .. behind, '+', 'COUNT', 20), nil
  for _, entry in ipairs(entries) do
    local entry_id, fields = unpack(entry)
    last = entry_id
    for i = 1, #fields, 2 do
      if fields[i] == 'id' and fields[i + 1] == id then
        redis.call('SADD', base .. 'unwanted', entry_id)
        return 'ok'
      end
    end
  end
  if #entries < 20 then return 'missing' end
  return { 'outcome', 'more', 'entry', last }
end

-- pause: nothing of the job is sent until it is resumed; a fan-out gives up the slot. Also answers 'parked'.
function pause(base, args)
  local id = unpack(args, 1, 1)
  local spec, state = find_job(base, id)
  if not spec then return state end
  if spec.parked then return 'parked' end
  if spec.ending then return { 'outcome', 'over', 'state', state } end
  if not spec.paused then
    in_step(base, id, function()
      write('HSET', base .. 'spec:' .. id, 'paused', '1')
      write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', 'paused by an operator')
      release_block(base, id)
      dequeue(base, spec)
      release_slot(base, id)
      -- Workers stop batches up to this epoch; later ones were claimed after a resume.
      append_news(base, 'stop', id, next_epoch(base, wall_ms()))
    end)
  end
  return ok_reply('paused')
end

-- Lets a paused or parked job go on. Part of a step. `known`: see restore. Returns its state.
local function continue_job(base, id, spec, known)
  local key = base .. 'spec:' .. id
  write('HDEL', key, 'paused', 'parked')
  spec.paused, spec.parked, known.copying = nil, nil, nil
  if spec.source == 'set' and redis.call('HEXISTS', key, 'whole') == 0 then
    -- Its copy was given up; it starts over.
    write('HDEL', key, 'run', 'restarts')
    write('SADD', base .. 'copying', id)
    known.copying = true
  end
  restore(base, id, spec, project_ms(base), known)
  local state = running_state(base, id, spec)
  write('HSET', base .. 'job:' .. id, 'state', state)
  write('HDEL', base .. 'job:' .. id, 'reason')
  return state
end

-- resume: a paused job goes on where it was.
function resume(base, args)
  local id = unpack(args, 1, 1)
  local spec, state = find_job(base, id)
  if not spec then return state end
  if spec.parked then return 'parked' end
  if not spec.paused then return ok_reply(state) end
  return ok_reply((in_step(base, id, continue_job, base, id, spec, {})))
end

-- pause_project: nothing of the project is sent until it is resumed.
function pause_project(base, args)
  local reason = unpack(args, 1, 1)
  redis.call('HSET', base .. 'ctl', 'pause', reason ~= '' and reason or 'paused by an operator')
  return 'ok'
end

-- resume_project: lifts an operator's pause, and has a blocked project probed at once.
function resume_project(base)
  local control = base .. 'ctl'
  redis.call('HDEL', control, 'pause')
  if redis.call('HEXISTS', control, 'block') == 1 then
    local now = int(project_ms(base))
    redis.call('HSET', control, 'block_until', now)
    -- What waits for the probe waits for its old time: the first of it is due now.
    for _, set in ipairs(DUE_SETS) do
      local member = unpack(redis.call('ZRANGE', base .. set, 0, 0))
      if member then redis.call('ZADD', base .. set, 'LT', now, member) end
    end
  end
  return 'ok'
end

-- Lets a parked job go on, and removes its entry from `dead`. Part of a step.
local function replay_parked(base, id, spec, entry)
  write('SREM', base .. 'jobs_parked', id)
  write('SADD', base .. 'jobs_open', id)
  for _, name in ipairs(redis.call('LRANGE', base .. 'stopped:' .. id, 0, -1)) do
    write('HDEL', base .. 'b:' .. name, 'crashes', 'alone')
  end
  write('DEL', base .. 'crashed:' .. id)
  continue_job(base, id, spec, { crashes = '0' })
  write('XDEL', base .. 'dead', entry)
end

-- Pushes the fields of a rejected entry as a new entry of `jobs`, exempt from dedupe. Two jobs cannot run under one id.
local function replay_rejected(base, entry, fields, job)
  local push, own = { 'XADD', base .. 'jobs', '*' }, nil
  for i = 1, #fields, 2 do
    local name = string.match(fields[i], '^f%.(.*)$')
    if name then
      add_pair(push, name, fields[i + 1])
      if name == 'id' then own = fields[i + 1] end
    end
  end
  if #push == 3 then return { 'outcome', 'gone', 'job', job } end
  if own then
    if redis.call('EXISTS', base .. 'spec:' .. own) == 1 then return { 'outcome', 'busy', 'job', own } end
    redis.call('DEL', base .. 'seen:' .. own)
  end
  -- An entry that is pushed twice is sent twice, so rights and types are checked first.
  check_rights(base, 'replay', true)
  local pushed = redis.call(unpack(push))
  write('XDEL', base .. 'dead', entry)
  return { 'outcome', 'pushed', 'entry', pushed }
end

-- The fields of an entry of `dead`, flat and as a map; nil when it is not there.
local function read_dead(base, entry)
  local found = unpack(redis.call('XRANGE', base .. 'dead', entry, entry))
  if not found then return nil end
  local _, fields = unpack(found)
  return fields, pairs_to_map(fields)
end

-- replay: an entry of `dead` goes on: a parked job with its unfinished recipients, a rejected entry as a new one.
-- Returns 'missing', or with `job`: 'resumed', 'gone' (the job is over) or 'busy' (another job of the same id runs), or
-- 'pushed' and the new `entry`.
function replay(base, args)
  local entry = unpack(args, 1, 1)
  local fields, known = read_dead(base, entry)
  if not fields then return 'missing' end
  local id = known.job
  if known.kind ~= 'parked' then return replay_rejected(base, entry, fields, id) end
  local spec = load_spec(base, id)
  if spec and spec.parked then
    in_step(base, id, replay_parked, base, id, spec, entry)
    return { 'outcome', 'resumed', 'job', id }
  end
  write('XDEL', base .. 'dead', entry)
  return { 'outcome', 'gone', 'job', id }
end

-- drop: removes an entry from `dead`, and cancels its parked job. Returns 'missing', or 'dropped' and the `job`.
function drop(base, args)
  local entry = unpack(args, 1, 1)
  local fields, known = read_dead(base, entry)
  if not fields then return 'missing' end
  local spec = known.kind == 'parked' and load_spec(base, known.job)
  if spec and spec.parked then end_job(base, known.job, 'cancelled', project_ms(base)) end
  write('XDEL', base .. 'dead', entry)
  return { 'outcome', 'dropped', 'job', known.job }
end

-- overview: the project's state. `active_left`: ms for which FCM is busy with each of the `active` jobs, or '-'.
function overview(base)
  local now, control = project_ms(base), read_control(base)
  local rate = current_pace(control, now)
  local active, left, turns = {}, {}, redis.call('HGETALL', base .. 'active')
  for i = 1, #turns, 2 do
    active[#active + 1] = turns[i]
    local ends = string.match(turns[i + 1], '|(%d+)$')
    left[#left + 1] = ends and int(math.max(0, tonumber(ends) - now)) or '-'
  end
  local retrying = redis.call('ZCARD', base .. DUE_RETRY) + redis.call('ZCARD', base .. DUE_FANOUT_RETRY)
  return { 'now_ms', int(wall_ms()), 'paused', control.pause and '1' or '0', 'pause_reason', control.pause or '',
    'block', control.block or '', 'hold_ms', int(math.max(0, (tonumber(control.hold_until) or 0) - now)),
    'pressure', control.pressure or '',
    'open', int(redis.call('SCARD', base .. 'jobs_open')), 'parked', int(redis.call('SCARD', base .. 'jobs_parked')),
    'entries', int(redis.call('XLEN', base .. 'jobs')), 'retrying', int(retrying),
    'scheduled', int(redis.call('ZCARD', base .. 'sched')),
    'waiting_fanouts', int(redis.call('ZCARD', base .. 'queue')), 'workers', int(redis.call('HLEN', base .. 'leases')),
    'rate', rate.rate, 'recovering', rate.recovering, 'quota', redis.call('HGET', base .. 'ctl', 'quota') or '0',
    'active', table.concat(active, ' '), 'active_left', table.concat(left, ' '), 'epoch', control.epoch or '0' }
end

-- trim: removes old entries of a stream that every group has acknowledged. Returns their number.
function trim(base, args)
  local stream, keep_ms = unpack(args, 1, 2)
  local key = base .. stream
  if redis.call('EXISTS', key) == 0 then return 0 end
  local floor = int(wall_ms() - tonumber(keep_ms)) .. '-0'
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    local info = pairs_to_map(group)
    local oldest, _ = info['last-delivered-id'], nil
    if tonumber(info['pending']) > 0 then _, oldest = unpack(redis.call('XPENDING', key, info['name'])) end
    if is_earlier(oldest, floor) then floor = oldest end
  end
  return redis.call('XTRIM', key, 'MINID', floor)
end

-- remove_idle_consumers: removes consumers of `jobs` that have nothing pending and were silent for `idle_ms`. In one
-- call: the removal of a consumer that reads an entry in between would lose the entry. Returns their number.
function remove_idle_consumers(base, args)
  local idle_ms = unpack(args, 1, 1)
  local jobs, removed = base .. 'jobs', 0
  local consumers = redis.pcall('XINFO', 'CONSUMERS', jobs, 'fanfare')
  if consumers.err then return 0 end
  for _, flat in ipairs(consumers) do
    local consumer = pairs_to_map(flat)
    if consumer.pending == 0 and consumer.idle > tonumber(idle_ms) then
      redis.call('XGROUP', 'DELCONSUMER', jobs, 'fanfare', consumer.name)
      removed = removed + 1
    end
  end
  return removed
end

end
