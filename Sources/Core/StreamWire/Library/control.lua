-- Calls of operators. After its arguments each takes the names `actor` and `reason`, each with its value, for the audit
-- list; a call that changes nothing is not in it. A call about a job answers 'missing', or 'over' or 'ok' with the
-- job's `state`.

local cancel, cancel_entry, pause, resume, pause_project, resume_project, probe_project, replay, push_edited, drop,
  overview, trim, remove_idle_consumers
do

local OVER = { done = true, cancelled = true, expired = true, rejected = true }

local function ok_reply(state)
  return { 'outcome', 'ok', 'state', state }
end

-- The spec of a job that is not over, and its state; nil and a reply for any other.
local function find_job(base, id)
  compact.expand(base, id)
  local state = redis.call('HGET', base .. 'job:' .. id, 'state')
  if not state then return nil, 'missing' end
  local spec = load_spec(base, id)
  if OVER[state] or not spec then return nil, { 'outcome', 'over', 'state', state } end
  return spec, state
end

-- cancel: ends a job; each recipient without a result gets `cancelled`, or `unknown` if it may have been reached. Also
-- answers `was_ending` for a job that was ending before: its id may have been pushed again.
function cancel(base, args)
  local id = unpack(args, 1, 1)
  local spec, reply = find_job(base, id)
  if not spec then
    -- Frees the slot of a broadcast whose audience was estimated too large.
    redis.call('HDEL', base .. 'active', id)
    return reply
  end
  local was_ending = spec.ending
  if not was_ending then
    refuse_stuck(id)
    add_audit(base, 'cancel', id, args, 2)
  end
  end_job(base, id, 'cancelled', project_ms(base))
  reply = ok_reply(redis.call('HGET', base .. 'job:' .. id, 'state'))
  if was_ending then add_pair(reply, 'was_ending', '1') end
  return reply
end

-- cancel_entry: cancels a job that is still an entry of `jobs`; it ends as soon as a worker takes it. A job that was
-- pushed several times is cancelled with each of its entries: the end of the first would free the id for the next.
-- `id`: the job's or the entry's; `behind`: the entry after which to search ('-' = from the first).
-- Returns 'ok', 'missing', or 'more'; the first and the last with the `entry` after which to continue, unless the
-- search is over: entries may be large, so a call reads a few.
function cancel_entry(base, args)
  local id, behind = unpack(args, 1, 2)
  local jobs = base .. 'jobs'
  local function cancel_found(found)
    if redis.call('SADD', base .. 'unwanted', found) == 1 then add_audit(base, 'cancel', id, args, 3) end
    return 'ok'
  end
  if string.match(id, '^%d+%-%d+$') and #redis.call('XRANGE', jobs, id, id) == 1 then return cancel_found(id) end
  local entries = redis.call('XRANGE', jobs, behind == '-' and behind or '(' .. behind, '+', 'COUNT', 20)
  local outcome, last = nil, nil
  for _, entry in ipairs(entries) do
    local entry_id, fields = unpack(entry)
    last = entry_id
    for i = 1, #fields, 2 do
      if fields[i] == 'id' and fields[i + 1] == id then outcome = cancel_found(entry_id) end
    end
  end
  if #entries < 20 then return outcome or 'missing' end
  return { 'outcome', outcome or 'more', 'entry', last }
end

-- pause: nothing of the job is sent until it is resumed; a fan-out gives up the slot. Also answers 'parked'. The optional
-- name `scope` says what the operator paused: `job`, or `all` (`fanfare pause --all`). The spec keeps it; `job` takes the
-- place of `all`, and not the other way.
function pause(base, args)
  local id = unpack(args, 1, 1)
  local spec, state = find_job(base, id)
  if not spec then return state end
  if spec.parked then return 'parked' end
  if spec.ending then return { 'outcome', 'over', 'state', state } end
  local more, reason = pairs_to_map(args, 2), 'paused by an operator'
  if not spec.paused or (spec.paused == 'all' and more.scope == 'job') then
    in_step(base, id, function()
      add_audit(base, 'pause', id, args, 2)
      mark_job(base, 'pause', id, args, 2)
      write('HSET', base .. 'spec:' .. id, 'paused', more.scope or '1')
      if more.reason then reason = reason .. ': ' .. more.reason end
      write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', reason)
      pauses.add(base, id, reason)
      release_block(base, id)
      dequeue(base, spec)
      release_slot(base, id)
      -- Workers stop batches up to this epoch; later ones were claimed after a resume.
      append_news(base, 'stop', id, next_epoch(base, wall_ms()))
    end)
  end
  return ok_reply('paused')
end

-- Continues a paused or parked job, or holds it after a canary that ended meanwhile. Part of a step. `known`: see
-- restore. Returns its state.
local function continue_job(base, id, spec, known)
  local key = base .. 'spec:' .. id
  write('HDEL', key, 'paused', 'parked', 'sample')
  spec.paused, spec.parked, known.copying = nil, nil, nil
  if spec.source == 'set' and redis.call('HEXISTS', key, 'whole') == 0 then
    -- Its copy was given up; it starts over.
    write('HDEL', key, 'run', 'restarts')
    write('SADD', base .. 'copying', id)
    known.copying = true
  end
  local guards = read_guards(base, id, spec)
  if guards and guards.canary_held == '2' then
    write('HSET', key, 'canary_held', '1')
    guards.canary_held = '1'
  end
  restore(base, id, spec, project_ms(base), known)
  return write_free_state(base, id, spec)
end

-- resume: a paused job continues where it was; one that waits after its canary continues after it. A job that was
-- paused with all others waits there again: the operator did not mean its canary.
function resume(base, args)
  local id = unpack(args, 1, 1)
  local spec, state = find_job(base, id)
  if not spec then return state end
  if spec.parked then return 'parked' end
  local guards = read_guards(base, id, spec)
  local is_held = guards and guards.canary_held
  if not spec.paused and not is_held then return ok_reply(state) end
  return ok_reply((in_step(base, id, function()
    add_audit(base, 'resume', id, args, 2)
    mark_job(base, 'resume', id, args, 2)
    if is_held == '1' and spec.paused ~= 'all' then end_canary(base, id, spec) end
    return continue_job(base, id, spec, {})
  end)))
end

-- pause_project: nothing of the project is sent until it is resumed.
function pause_project(base, args)
  local reason = unpack(args, 1, 1)
  if reason == '' then reason = 'paused by an operator' end
  if redis.call('HGET', base .. 'ctl', 'pause') ~= reason then
    add_audit(base, 'pause_project', '', args, 2)
    add_mark(base, 'pause', reason)
  end
  redis.call('HSET', base .. 'ctl', 'pause', reason)
  redis.call('SET', base .. 'paused', '1')
  return 'ok'
end

-- Has a blocked project probed at once; nothing happens unless it is blocked.
local function hasten_probe(base)
  local control = base .. 'ctl'
  if redis.call('HEXISTS', control, 'block') == 0 then return end
  local now = int(project_ms(base))
  redis.call('HSET', control, 'block_until', now)
  -- Recipients that wait for the probe keep their old due times. The earliest is made due now, so that the probe can
  -- claim it.
  for _, set in ipairs(DUE_SETS) do
    local member = unpack(redis.call('ZRANGE', base .. set, 0, 0))
    if member then redis.call('ZADD', base .. set, 'LT', now, member) end
  end
end

-- resume_project: lifts an operator's pause, and has a blocked project probed at once.
function resume_project(base, args)
  local control = base .. 'ctl'
  if redis.call('HEXISTS', control, 'pause') + redis.call('HEXISTS', control, 'block') > 0 then
    add_audit(base, 'resume_project', '', args, 1)
    add_mark(base, 'resume', 'resumed by an operator')
  end
  redis.call('HDEL', control, 'pause')
  redis.call('DEL', base .. 'paused')
  hasten_probe(base)
  return 'ok'
end

-- probe_project: has a blocked project probed at once, because a worker has taken up another credential.
function probe_project(base)
  hasten_probe(base)
  return 'ok'
end

-- Continues a parked job, and removes its entry from `dead`. Part of a step.
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

-- Pushes fields in place of a rejected entry's as a new entry of `jobs`, exempt from dedupe. Two jobs cannot run under
-- one id. `fields`: names and values in turns; `audit`: called before.
local function push_again(base, entry, fields, job, audit)
  local own = pairs_to_map(fields).id
  if #fields == 0 then return { 'outcome', 'gone', 'job', job } end
  if own then
    compact.expand(base, own)
    if redis.call('EXISTS', base .. 'spec:' .. own) == 1 then return { 'outcome', 'busy', 'job', own } end
    redis.call('DEL', base .. 'seen:' .. own)
  end
  -- An entry that is pushed twice is sent twice, so rights and types are checked first.
  check_rights(base, 'replay', true)
  audit()
  local pushed = redis.call('XADD', base .. 'jobs', '*', unpack(fields))
  write('XDEL', base .. 'dead', entry)
  return { 'outcome', 'pushed', 'entry', pushed }
end

-- The producer's own fields in an entry of `dead`.
local function original_fields(fields)
  local originals = {}
  for i = 1, #fields, 2 do
    local name = string.match(fields[i], '^f%.(.*)$')
    if name then add_pair(originals, name, fields[i + 1]) end
  end
  return originals
end

-- The fields of an entry of `dead`, flat and as a map; nil when it is not there.
local function read_dead(base, entry)
  local found = unpack(redis.call('XRANGE', base .. 'dead', entry, entry))
  if not found then return nil end
  local _, fields = unpack(found)
  return fields, pairs_to_map(fields)
end

-- replay: an entry of `dead` continues: a parked job with its unfinished recipients, a rejected entry as a new one.
-- Returns 'missing', or with `job`: 'resumed', 'gone' (the job is over) or 'busy' (another job of the same id runs), or
-- 'pushed' and the new `entry`.
function replay(base, args)
  local entry = unpack(args, 1, 1)
  local fields, known = read_dead(base, entry)
  if not fields then return 'missing' end
  local id = known.job
  local function audit() add_audit(base, 'replay', entry, args, 2) end
  if known.kind ~= 'parked' then return push_again(base, entry, original_fields(fields), id, audit) end
  local spec = load_spec(base, id)
  if spec and spec.parked then
    in_step(base, id, function()
      audit()
      replay_parked(base, id, spec, entry)
    end)
    return { 'outcome', 'resumed', 'job', id }
  end
  write('XDEL', base .. 'dead', entry)
  return { 'outcome', 'gone', 'job', id }
end

-- push_edited: pushes other fields in place of a rejected entry's, which leaves `dead`. The fields are further arguments.
-- Answers as `replay`; 'gone' for a parked job, which keeps the fields that it was pushed with.
function push_edited(base, args)
  local entry, actor, reason = unpack(args, 1, 3)
  local fields, known = read_dead(base, entry)
  if not fields then return 'missing' end
  if known.kind == 'parked' then return { 'outcome', 'gone', 'job', known.job } end
  local edited = {}
  for i = 4, #args do edited[i - 3] = args[i] end
  return push_again(base, entry, edited, known.job, function()
    add_audit(base, 'push_edited', entry, { 'actor', actor, 'reason', reason })
  end)
end

-- drop: removes an entry from `dead`, and cancels its parked job. Returns 'missing', or 'dropped' and the `job`.
function drop(base, args)
  local entry = unpack(args, 1, 1)
  local fields, known = read_dead(base, entry)
  if not fields then return 'missing' end
  local spec = known.kind == 'parked' and load_spec(base, known.job)
  if spec and spec.parked then refuse_stuck(known.job) end
  add_audit(base, 'drop', entry, args, 2)
  if spec and spec.parked then end_job(base, known.job, 'cancelled', project_ms(base)) end
  write('XDEL', base .. 'dead', entry)
  return { 'outcome', 'dropped', 'job', known.job }
end

-- overview: the project's state. `active_left`: ms for which FCM is busy with each of the `active` jobs, or '-';
-- `unreachable`: a service that cannot be reached, and why; `unreachable_partly`: only the named worker says so.
-- `stopped_by_…`, `jobs_paused`, `jobs_scheduled`, `jobs_closed`: see pauses.count.
function overview(base)
  local control = read_control(base)
  -- Not project_ms, whose time stands while no worker claims.
  local now = wall_ms() + (tonumber(control.lead) or 0)
  local rate, health, resting = current_pace(control, now), judge_workers(base, wall_ms()), pauses.count(base)
  local outage = health.outage
  local text = outage and outage.service .. ' cannot be reached: ' .. outage.cause or ''
  if outage and health.is_partial then text = 'worker ' .. outage.worker .. ': ' .. text end
  local active, left, turns = {}, {}, redis.call('HGETALL', base .. 'active')
  for i = 1, #turns, 2 do
    active[#active + 1] = turns[i]
    local ends = string.match(turns[i + 1], '|(%d+)$')
    left[#left + 1] = ends and int(math.max(0, tonumber(ends) - now)) or '-'
  end
  local retrying = redis.call('ZCARD', base .. DUE_RETRY) + redis.call('ZCARD', base .. DUE_FANOUT_RETRY)
  return { 'now_ms', int(wall_ms()), 'paused', control.pause and '1' or '0', 'pause_reason', control.pause or '',
    'block', control.block or '', 'hold_ms', int(math.max(0, (tonumber(control.hold_until) or 0) - now)),
    'pressure', control.pressure or health.is_full and 'memory' or '', 'alive', int(health.alive),
    'unreachable', text, 'unreachable_since', outage and int(outage.since_ms) or '0',
    'unreachable_partly', outage and health.is_partial and '1' or '0',
    'open', int(jobs.count_open(base)), 'parked', int(redis.call('SCARD', base .. 'jobs_parked')),
    'entries', int(redis.call('XLEN', base .. 'jobs')), 'retrying', int(retrying),
    'scheduled', int(redis.call('ZCARD', base .. 'sched')),
    'stopped_by_stop_if', int(resting.stop_if), 'stopped_by_message', int(resting.message),
    'stopped_by_canary', int(resting.canary), 'jobs_paused', int(resting.paused),
    'jobs_scheduled', int(resting.scheduled), 'jobs_closed', int(resting.closed),
    'waiting_fanouts', int(redis.call('ZCARD', base .. 'queue')), 'workers', int(redis.call('HLEN', base .. 'leases')),
    'rate', rate.rate, 'recovering', rate.recovering, 'pace', pace_reason(control, now),
    'quota', redis.call('HGET', base .. 'ctl', 'quota') or '0',
    'active', table.concat(active, ' '), 'active_left', table.concat(left, ' '), 'epoch', control.epoch or '0' }
end

-- Removes the blocks of the index whose entries of `results` are gone; see index_results.
local function trim_index(base)
  local first = unpack(redis.call('XRANGE', base .. 'results', '-', '+', 'COUNT', 1))
  if first then
    redis.pcall('XTRIM', base .. 'fingerprints', 'MINID', (unpack(first)))
  else
    redis.pcall('DEL', base .. 'fingerprints', base .. 'fingerprints_open')
  end
end

-- trim: removes old entries of a stream that every group has acknowledged. Returns their number.
function trim(base, args)
  local stream, keep_ms = unpack(args, 1, 2)
  local key = base .. stream
  if redis.call('EXISTS', key) == 0 then
    if stream == 'results' then trim_index(base) end
    return 0
  end
  local floor = int(wall_ms() - tonumber(keep_ms)) .. '-0'
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    local info = pairs_to_map(group)
    local oldest, _ = info['last-delivered-id'], nil
    if tonumber(info['pending']) > 0 then _, oldest = unpack(redis.call('XPENDING', key, info['name'])) end
    if is_earlier(oldest, floor) then floor = oldest end
  end
  local removed = redis.call('XTRIM', key, 'MINID', floor)
  if stream == 'results' then trim_index(base) end
  return removed
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
