
-- ---------------------------------------------------------------------------------------------------------------
-- What operators do. Jobs answer {'missing'}, {'over', state} or {'ok', state}.

local OVER = { done = true, cancelled = true, expired = true, rejected = true }

local function find(base, id)
  local state = redis.call('HGET', base .. 'job:' .. id, 'state')
  if not state then return nil, { 'missing' } end
  local spec = load_spec(base, id)
  if OVER[state] or not spec then return nil, { 'over', state } end
  return spec, state
end

-- cancel: ends a job; each recipient without a result gets `cancelled`, or `unknown` if it may have been reached.
-- ARGV: job id.
local function cancel(keys, args)
  local spec, state = find(keys[1], args[1])
  if not spec then
    -- A topic whose audience was thought too large keeps the slot for too long: this gives it up.
    redis.call('HDEL', keys[1] .. 'active', args[1])
    return state
  end
  end_job(keys[1], args[1], 'cancelled', steady_ms(keys[1]))
  return { 'ok', redis.call('HGET', keys[1] .. 'job:' .. args[1], 'state') }
end

-- cancel_entry: a job that no worker has taken yet is an entry of `jobs`; it ends as soon as one takes it.
-- ARGV: job id, which may be the entry's, entry to look behind ('-' = from the first).
-- Returns {'ok'}, {'missing'}, or {'more', entry to go on behind}: a call looks at a few entries, which may be
-- large.
local function cancel_entry(keys, args)
  local base, id, start = keys[1], args[1], args[2]
  local jobs = base .. 'jobs'
  if string.match(id, '^%d+%-%d+$') and #redis.call('XRANGE', jobs, id, id) == 1 then
    redis.call('SADD', base .. 'unwanted', id)
    return { 'ok' }
  end
  local entries = redis.call('XRANGE', jobs, start == '-' and start or '(' .. start, '+', 'COUNT', 20)
  for _, entry in ipairs(entries) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'id' and entry[2][i + 1] == id then
        redis.call('SADD', base .. 'unwanted', entry[1])
        return { 'ok' }
      end
    end
  end
  if #entries < 20 then return { 'missing' } end
  return { 'more', entries[#entries][1] }
end

-- pause: nothing of the job is sent until it is resumed; a fan-out gives up the slot. ARGV: job id.
-- Also {'parked'}: the job waits for a person already.
local function pause(keys, args)
  local base, id = keys[1], args[1]
  local spec, state = find(base, id)
  if not spec then return state end
  if spec.parked then return { 'parked' } end
  if spec.ending then return { 'over', state } end
  if not spec.paused then
    in_step(base, id, function()
      write('HSET', base .. 'spec:' .. id, 'paused', '1')
      write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', 'paused by an operator')
      release_block(base, id)
      dequeue(base, spec)
      release_slot(base, id)
      -- Workers stop batches up to this epoch; later ones were claimed after a resume.
      tell(base, 'stop', id, next_epoch(base, now_ms()))
    end)
  end
  return { 'ok', 'paused' }
end

-- Part of a step. `known`: see restore.
local function go_on(base, id, spec, known)
  local key, copies = base .. 'spec:' .. id, nil
  write('HDEL', key, 'paused', 'parked')
  spec.paused, spec.parked = nil, nil
  if spec.source == 'set' and redis.call('HEXISTS', key, 'whole') == 0 then
    -- Its copy was given up; it starts over.
    write('HDEL', key, 'run', 'restarts')
    write('SADD', base .. 'copying', id)
    copies = true
  end
  known = known or {}
  known.copying = copies
  restore(base, id, spec, steady_ms(base), known)
  local state = natural_state(base, id, spec)
  write('HSET', base .. 'job:' .. id, 'state', state)
  write('HDEL', base .. 'job:' .. id, 'reason')
  return state
end

-- resume: a paused job goes on where it was. ARGV: job id.
local function resume(keys, args)
  local spec, state = find(keys[1], args[1])
  if not spec then return state end
  if spec.parked then return { 'parked' } end
  if not spec.paused then return { 'ok', state } end
  return { 'ok', (in_step(keys[1], args[1], go_on, keys[1], args[1], spec)) }
end

-- pause_project: nothing of the project is sent until it is resumed. ARGV: reason. Returns {'ok'}.
local function pause_project(keys, args)
  redis.call('HSET', keys[1] .. 'ctl', 'pause', args[1] ~= '' and args[1] or 'paused by an operator')
  return { 'ok' }
end

-- resume_project: lifts an operator's pause, and has a blocked project probed at once. Returns {'ok'}.
local function resume_project(keys)
  local ctl = keys[1] .. 'ctl'
  redis.call('HDEL', ctl, 'pause')
  if redis.call('HEXISTS', ctl, 'block') == 1 then
    local now = int(steady_ms(keys[1]))
    redis.call('HSET', ctl, 'block_until', now)
    -- What waits for the probe waits for its old time: the first of it is due now.
    for _, set in ipairs(WAITING) do
      local member = redis.call('ZRANGE', keys[1] .. set, 0, 0)[1]
      if member then redis.call('ZADD', keys[1] .. set, 'LT', now, member) end
    end
  end
  return { 'ok' }
end

-- replay: an entry of `dead` goes on: a parked job with its unfinished recipients, a rejected entry as a new one.
-- ARGV: entry id. Returns {'resumed', job}, {'pushed', new entry id}, {'gone', job} (nothing is left of it), {'busy', job}
-- (another job of the same id runs: replay when it is over), {'missing'}.
local function replay(keys, args)
  local base = keys[1]
  local entry = redis.call('XRANGE', base .. 'dead', args[1], args[1])[1]
  if not entry then return { 'missing' } end
  local fields = pairs_to_map(entry[2])
  if fields.kind == 'parked' then
    local id = fields.job
    local spec = load_spec(base, id)
    local is_parked = spec and spec.parked
    if is_parked then
      in_step(base, id, function()
        write('SREM', base .. 'jobs_parked', id)
        write('SADD', base .. 'jobs_open', id)
        for _, name in ipairs(redis.call('LRANGE', base .. 'stopped:' .. id, 0, -1)) do
          write('HDEL', base .. 'b:' .. name, 'crashes', 'alone')
        end
        write('DEL', base .. 'crashed:' .. id)
        go_on(base, id, spec, { crashes = '0' })
        write('XDEL', base .. 'dead', args[1])
      end)
      return { 'resumed', id }
    end
    write('XDEL', base .. 'dead', args[1])
    return { 'gone', id }
  end
  local push = { 'XADD', base .. 'jobs', '*' }
  for i = 1, #entry[2], 2 do
    if string.sub(entry[2][i], 1, 2) == 'f.' then
      push[#push + 1] = string.sub(entry[2][i], 3)
      push[#push + 1] = entry[2][i + 1]
    end
  end
  if #push == 3 then return { 'gone', fields.job } end
  -- Exempt from dedupe: a person wants it sent. But two jobs cannot run under one id.
  local own = pairs_to_map(entry[2])['f.id']
  if own then
    if redis.call('EXISTS', base .. 'spec:' .. own) == 1 then return { 'busy', own } end
    redis.call('DEL', base .. 'seen:' .. own)
  end
  -- An entry that is pushed twice is sent twice, so rights and types are checked first.
  may(base, 'replay', true)
  local pushed = redis.call(unpack(push))
  write('XDEL', base .. 'dead', args[1])
  return { 'pushed', pushed }
end

-- drop: takes an entry out of `dead`; what a parked job has left is cancelled.
-- ARGV: entry id. Returns {'dropped', job} or {'missing'}.
local function drop(keys, args)
  local base = keys[1]
  local entry = redis.call('XRANGE', base .. 'dead', args[1], args[1])[1]
  if not entry then return { 'missing' } end
  local fields = pairs_to_map(entry[2])
  local spec = fields.kind == 'parked' and load_spec(base, fields.job)
  if spec and spec.parked then end_job(base, fields.job, 'cancelled', steady_ms(base)) end
  write('XDEL', base .. 'dead', args[1])
  return { 'dropped', fields.job }
end

-- overview: what the project is doing; a flat map. For each job that holds the slot, `active_left` says for how many ms
-- FCM is still busy with it; '-' when it goes by its sends.
local function overview(keys)
  local base, now = keys[1], steady_ms(keys[1])
  local ctl = redis.call('HMGET', base .. 'ctl', 'pause', 'block', 'hold_until', 'pressure', 'quota')
  local pace = current_pace(look(base), now)
  local active, left = {}, {}
  local turns = redis.call('HGETALL', base .. 'active')
  for i = 1, #turns, 2 do
    active[#active + 1] = turns[i]
    local ends = string.match(turns[i + 1], '|(%d+)$')
    left[#left + 1] = ends and int(math.max(0, tonumber(ends) - now)) or '-'
  end
  return { 'now_ms', int(now_ms()), 'paused', ctl[1] and '1' or '0', 'pause_reason', ctl[1] or '', 'block', ctl[2] or '',
    'hold_ms', int(math.max(0, (tonumber(ctl[3]) or 0) - now)), 'pressure', ctl[4] or '',
    'open', int(redis.call('SCARD', base .. 'jobs_open')), 'parked', int(redis.call('SCARD', base .. 'jobs_parked')),
    'entries', int(redis.call('XLEN', base .. 'jobs')), 'retrying', int(redis.call('ZCARD', base .. 'retry') + redis.call('ZCARD', base .. 'retry_many')),
    'scheduled', int(redis.call('ZCARD', base .. 'sched')),
    'waiting_fanouts', int(redis.call('ZCARD', base .. 'queue')), 'workers', int(redis.call('HLEN', base .. 'leases')),
    'rate', pace.rate, 'recovering', pace.recovering, 'quota', ctl[5] or '0', 'active', table.concat(active, ' '), 'active_left', table.concat(left, ' '),
    'epoch', redis.call('HGET', base .. 'ctl', 'epoch') or '0' }
end

-- trim: takes old entries out of an outgoing stream, but nothing that an existing group has not acknowledged.
-- ARGV: stream's name behind the base, ms to keep. Returns the number of entries taken out.
local function trim(keys, args)
  local stream = keys[1] .. args[1]
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local floor = int(now_ms() - tonumber(args[2])) .. '-0'
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local info = pairs_to_map(group)
    local oldest = info['last-delivered-id']
    if tonumber(info['pending']) > 0 then oldest = redis.call('XPENDING', stream, info['name'])[2] end
    if before(oldest, floor) then floor = oldest end
  end
  return redis.call('XTRIM', stream, 'MINID', floor)
end

-- tidy: removes consumers that have nothing pending and have not been heard of for a while. In one step, because one
-- that read an entry in between would take the entry's only mark along.
-- ARGV: ms. Returns the number of consumers removed.
local function tidy(keys, args)
  local jobs, removed = keys[1] .. 'jobs', 0
  local consumers = redis.pcall('XINFO', 'CONSUMERS', jobs, 'fanfare')
  if consumers.err then return 0 end
  for _, flat in ipairs(consumers) do
    local consumer = pairs_to_map(flat)
    if consumer.pending == 0 and consumer.idle > tonumber(args[1]) then
      redis.call('XGROUP', 'DELCONSUMER', jobs, 'fanfare', consumer.name)
      removed = removed + 1
    end
  end
  return removed
end
