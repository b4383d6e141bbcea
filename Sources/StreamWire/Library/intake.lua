
-- ---------------------------------------------------------------------------------------------------------------
-- Ways in: an entry of `jobs` becomes a job, or goes to `dead`.

-- Sends to device groups under way at once, half of what FCM allows.
local MOST_GROUPS = 500

-- Opens a batch for a worker: the record that carries ownership and the watermark of sends.
-- `common`: where it is noted for the end of the call; nil: written at once.
local function open_batch(base, id, n, worker, epoch, window, fields, common)
  local name = id .. '/' .. n
  redis.call('HSET', base .. 'b:' .. name, 'owner', worker, 'epoch', epoch, 'upto', window, 'deliveries', '1',
    unpack(fields))
  if common then note_for_end(common, 'claimed', worker, name) else redis.call('SADD', base .. 'claims:' .. worker, name) end
end

local function mark_active(base, id, now)
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'waiting' or state == 'scheduled' then
    redis.call('HSET', job, 'state', 'active')
    redis.call('HSETNX', job, 'started_ms', int(now_ms()))
  end
end

-- Acknowledges entries that leave `jobs`. Without the group (somebody deleted it) there is nothing to acknowledge, and
-- they leave all the same.
local function acknowledge(base, ...)
  redis.pcall('XACK', base .. 'jobs', 'fanfare', ...)
end

-- Takes an entry out of `jobs`; false when another worker has handed it over already.
-- `common`: as of open_batch.
local function take_entry(base, entry, common)
  if common then note_for_end(common, 'entries', 'all', entry) else acknowledge(base, entry) end
  return redis.call('XDEL', base .. 'jobs', entry) == 1
end

-- Whether an entry was cancelled while it stood in `jobs`.
local function was_unwanted(base, entry)
  return redis.call('SREM', base .. 'unwanted', entry) == 1
end

local function new_job(job, state, total, now, ...)
  redis.call('HSET', job, 'state', state, 'total', int(total), 'sent', '0', 'failed', '0', 'unknown', '0',
    'cancelled', '0', 'expired', '0', 'retrying', '0', 'duplicates', '0', 'created_ms', int(now), ...)
end

-- Whether a worker is not alive, or has a later connection.
local function is_away(base, worker, link, common)
  local name = worker .. ' ' .. link
  if common.away[name] == nil then
    common.away[name] = redis.call('HEXISTS', base .. 'leases', worker) == 0 or not is_current(base, worker, link)
  end
  return common.away[name]
end

-- Whether a worker that has read a job of one batch may not have it at once; a call that nobody can take is queued like
-- any. `is_first`: nothing is known that stands before the job.
local function must_queue(base, id, args, class, common, is_first)
  local expires, ctl, now, wall = tonumber(args[11]), common.ctl, common.now, common.wall
  return ctl.block or ctl.pause or ctl.pressure or ctl.alone == args[6] or (tonumber(ctl.hold_until) or 0) > now
    or (expires > 0 and expires <= wall)
    or (class == 'group' and redis.call('SCARD', base .. 'groups_on') >= MOST_GROUPS)
    or (not is_first and redis.call('EXISTS', base .. 'singles', base .. 'rolled:' .. id) > 0)
    or is_away(base, args[6], args[15], common)
end

-- intake: hands a checked entry over: the entry leaves `jobs` in the step that writes the job. Also as `intakes`.
-- `common`: see new_common.
-- ARGV: 1 entry id, 2 job id, 3 own id (1/0), 4 dedupe ms, 5 keep ms, 6 worker ('' = do not take), 7 window,
--   8 total (-1 = audience), 9 audience key, 10 not_before, 11 expires_at, 12 member, 13 class ('' = by total),
--   14 quota a minute, 15 number of the worker's connection, 16 what it takes the time for, 17 number of spec pairs,
--   pairs..., recipients of batch 0, 1, ...
-- Returns {'gone'} (another worker did), {'duplicate'}, {'reject', reason}, {'queued'}, {'done'} (nobody to send to),
--   or {'taken', epoch, permits} when the job is one batch and `worker` holds it now.
local function intake(base, args, common)
  local entry, id, own = args[1], args[2], args[3] == '1'
  local job = base .. 'job:' .. id
  local spec, seen = base .. 'spec:' .. id, base .. 'seen:' .. id
  -- As a rule nothing was heard of the job or its entry, and nothing waits in front of it: one question tells.
  -- Where a job of the same call has found it so, of what waits nothing need be asked again.
  local is_first
  if common.is_calm then
    is_first = redis.call('EXISTS', spec, seen, job, base .. 'rolled:' .. id) == 0
  else
    is_first = redis.call('EXISTS', spec, seen, job, base .. 'rolled:' .. id, base .. 'unwanted', base .. 'singles') == 0
    common.is_calm = is_first
  end
  if not is_first and (redis.call('EXISTS', spec) == 1 or (own and redis.call('EXISTS', seen) == 1)) then
    was_unwanted(base, entry)
    if not take_entry(base, entry, common) then return { 'gone' } end
    if redis.call('EXISTS', job) == 1 then redis.call('HINCRBY', job, 'duplicates', 1) end
    return { 'duplicate' }
  end
  local total, source, audience = tonumber(args[8]), 'inline', args[9]
  if audience ~= '' then
    local kind = redis.call('TYPE', audience).ok
    if kind == 'list' then
      total, source = redis.call('LLEN', audience), 'list'
    elseif kind == 'set' then
      total, source = redis.call('SCARD', audience), 'set'
    elseif kind == 'none' then
      total = 0
    else
      return { 'reject', 'audience: the key holds a ' .. kind .. ', must be a LIST or a SET' }
    end
  end

  if not common.ctl then
    common.ctl = look(base)
    common.now, common.wall = steady_ms(base, tonumber(args[16]), common.ctl)
  end
  local ctl, now, wall, npairs = common.ctl, common.now, common.wall, tonumber(args[17])
  local unwanted = not is_first and was_unwanted(base, entry)
  if not take_entry(base, entry, common) then return { 'gone' } end
  local class, held = args[13], tonumber(args[10]) > wall
  if class == '' then class = total > BATCH and 'fanout' or 'single' end
  -- One batch, and the worker that read it has room: it need not come back for its recipients.
  local now_taken = total > 0 and source == 'inline' and args[6] ~= '' and not held and not unwanted
    and not takes_turns(class) and class ~= 'managed' and not must_queue(base, id, args, class, common, is_first)
  if not is_first then redis.call('DEL', job) end
  if now_taken then
    new_job(job, 'active', total, wall, 'started_ms', int(wall))
  else
    new_job(job, 'waiting', total, wall)
  end
  if own then redis.call('SET', seen, entry, 'PX', args[4]) end
  redis.call('HSET', spec, 'entry', entry, 'total', int(total), 'left', int(total), 'next', now_taken and int(total) or '0',
    'source', source, 'keep', args[5], 'member', args[12], 'class', class, unpack(args, 18, 17 + 2 * npairs))
  if audience ~= '' then redis.call('HSET', spec, 'audience', audience) end
  if total == 0 then
    finish_job(base, id)
    return { 'done' }
  end
  note_for_end(common, 'opened', 'all', id)
  local first = 18 + 2 * npairs
  if tonumber(args[11]) > 0 then redis.call('ZADD', base .. 'expiring', args[11], id) end
  if now_taken then
    redis.call('HSET', base .. 'rcpt:' .. id, '0', args[first])
    local epoch = next_epoch(base, now, ctl, wall)
    open_batch(base, id, '0', args[6], epoch, args[7], { 'from', '0', 'count', int(total) }, common)
    if class == 'group' then redis.call('SADD', base .. 'groups_on', id) end
    local permits = lend(base, ctl, tonumber(args[14]), now, 0, total, 0)
    change(ctl, 'left', int((tonumber(ctl.left) or 0) + total))
    return { 'taken', epoch, int(permits) }
  end
  for i = first, #args do redis.call('HSET', base .. 'rcpt:' .. id, int(i - first), args[i]) end
  if source == 'set' then redis.call('SADD', base .. 'copying', id) end
  if held then
    redis.call('HSET', job, 'state', 'scheduled')
    redis.call('ZADD', base .. 'sched', args[10], id)
  elseif source ~= 'set' then
    enqueue(base, { class = class, member = args[12] })
  end
  common.is_calm = false
  if unwanted then end_job(base, id, 'cancelled', now) end
  change(ctl, 'left', int((tonumber(ctl.left) or 0) + total))
  return { 'queued' }
end

-- What the jobs of one call have in common. What a batch would be stranded without comes first: a spoilt key stops what
-- stands behind it.
local function intake_end(base, common)
  for worker, names in pairs(common.claimed or {}) do redis.call('SADD', base .. 'claims:' .. worker, unpack(names)) end
  if common.ctl then keep(base, common.ctl) end
  if common.entries then acknowledge(base, unpack(common.entries.all)) end
  if common.opened then redis.call('SADD', base .. 'jobs_open', unpack(common.opened.all)) end
end

-- reject: an entry that breaks a rule goes to `dead` with its fields; its id is not remembered.
-- ARGV: entry id, job id, reason, keep ms, name, value, ... Returns {'gone'} or {'rejected'}.
local function reject(keys, args)
  local base = keys[1]
  local entry, id = args[1], args[2]
  local job = base .. 'job:' .. id
  was_unwanted(base, entry)
  if not take_entry(base, entry) then return { 'gone' } end
  local now = now_ms()
  local dead = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', args[3], 'kind', 'rejected',
    'entry_id', entry, 'at_ms', int(now) }
  for i = 5, #args, 2 do
    dead[#dead + 1] = 'f.' .. args[i]
    dead[#dead + 1] = args[i + 1]
  end
  redis.call(unpack(dead))
  -- A rejected entry must not spoil the record of a job that runs, or ran, under the same id.
  local state = redis.call('HGET', job, 'state')
  if not state or state == 'rejected' then
    redis.call('DEL', job)
    new_job(job, 'rejected', 0, now)
    redis.call('HSET', job, 'finished_ms', int(now), 'reason', args[3])
    redis.call('PEXPIRE', job, args[4])
  end
  return { 'rejected' }
end

-- ---------------------------------------------------------------------------------------------------------------
-- copy: one step of copying a SET audience to a private list, which fixes its order.
-- ARGV: job id, the server's run id, step size. Returns {'more', copied} or {'whole'} or {'gone'} or {'parked'}.
-- A cursor means nothing to another run of the server, so a copy that a restart cut short starts over.
local function copy(keys, args)
  local base, id = keys[1], args[1]
  local spec, list = base .. 'spec:' .. id, base .. 'copy:' .. id
  local now = steady_ms(base)
  local values = redis.call('HMGET', spec, 'audience', 'total', 'cursor', 'run', 'member', 'restarts')
  if not values[1] or redis.call('SISMEMBER', base .. 'copying', id) == 0 then return { 'gone' } end
  local total = tonumber(values[2])
  if redis.call('TYPE', values[1]).ok ~= 'set' then
    redis.call('SREM', base .. 'copying', id)
    park(base, id, 'audience: it is not a SET any more', now)
    return { 'parked' }
  end
  local cursor, run = values[3], values[4]
  if run ~= args[2] then
    redis.call('UNLINK', list)
    cursor = '0'
  end
  local step = redis.call('SSCAN', values[1], cursor, 'COUNT', args[3])
  for i = 1, #step[2], 500 do redis.call('RPUSH', list, unpack(step[2], i, math.min(i + 499, #step[2]))) end
  redis.call('HSET', spec, 'cursor', step[1], 'run', args[2])
  if step[1] ~= '0' then return { 'more', int(redis.call('LLEN', list)) } end
  if redis.pcall('SCARD', values[1]) ~= total then
    redis.call('SREM', base .. 'copying', id)
    park(base, id, 'audience: its size changed while it was read', now)
    return { 'parked' }
  end
  if redis.call('LLEN', list) ~= total then
    -- The table was resized under the scan, which may show a member twice: begin again.
    redis.call('HSET', spec, 'run', '')
    if tonumber(values[6] or '0') >= 5 then
      redis.call('SREM', base .. 'copying', id)
      park(base, id, 'audience: the SET cannot be read in a fixed order, use a LIST', now)
      return { 'parked' }
    end
    redis.call('HINCRBY', spec, 'restarts', 1)
    return { 'more', '0' }
  end
  redis.call('SREM', base .. 'copying', id)
  redis.call('HSET', spec, 'whole', '1')
  local job = load_spec(base, id)
  if job.ending then
    redis.call('ZADD', base .. 'ending', int(now), id)
  elseif not job.paused then
    restore(base, id, job, now)
  end
  return { 'whole' }
end

