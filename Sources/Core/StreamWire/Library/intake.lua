
-- ---------------------------------------------------------------------------------------------------------------
-- Ways in: an entry of `jobs` becomes a job, or goes to `dead`.

-- Sends to device groups under way at once, half of what FCM allows.
local MOST_GROUPS = 500

-- Opens a batch for a worker: the hash with its owner and watermark. No function finds it before it is in the worker's
-- claims.
local function open_batch(base, id, n, worker, epoch, window, fields)
  write('HSET', base .. 'b:' .. id .. '/' .. n, 'owner', worker, 'epoch', epoch, 'upto', window, 'deliveries', '1',
    unpack(fields))
end

local function mark_active(base, id, now)
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'waiting' or state == 'scheduled' then
    write('HSET', job, 'state', 'active')
    write('HSETNX', job, 'started_ms', int(now_ms()))
  end
end

-- Whether an entry is still in `jobs`. It leaves `jobs` last, when all that follows from it is written. If the group
-- was deleted, nothing is pending, and XRANGE still finds the entry.
-- `is_first`: no key of the entry's job exists.
local function is_in_jobs(base, entry, is_first)
  if is_first then
    local pending = redis.pcall('XPENDING', base .. 'jobs', 'fanfare', entry, entry, 1)
    if not pending.err and #pending > 0 then return true end
  end
  return #redis.call('XRANGE', base .. 'jobs', entry, entry) > 0
end

-- Deletes entries from `jobs`, then acknowledges them. If only the deletion is made, Redis drops the pending entries
-- itself.
local function take_entries(base, entries)
  write('XDEL', base .. 'jobs', unpack(entries))
  write('XACK', base .. 'jobs', 'fanfare', unpack(entries))
end

-- Whether an entry was cancelled while it stood in `jobs`.
local function is_unwanted(base, entry)
  return redis.call('SISMEMBER', base .. 'unwanted', entry) == 1
end

local function new_job(job, state, total, now, ...)
  write('HSET', job, 'state', state, 'total', int(total), 'sent', '0', 'failed', '0', 'unknown', '0',
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
    or common.is_queued or (not is_first and redis.call('EXISTS', base .. 'singles', base .. 'rolled:' .. id) > 0)
    or is_away(base, args[6], args[15], common)
end

-- Drops an entry whose job id is taken: it leaves `jobs`, and the job counts it as a duplicate.
local function note_duplicate(base, id, entry, common)
  local job = base .. 'job:' .. id
  note_for_end(common, 'entries', 'all', entry)
  if is_unwanted(base, entry) then note_for_end(common, 'wanted', 'all', entry) end
  common.duplicates = common.duplicates or {}
  local known = common.duplicates[job] or tonumber(redis.call('HGET', job, 'duplicates'))
  if known then common.duplicates[job] = known + 1 end
  return { 'duplicate' }
end

-- The type and length of an audience; nil and a reason when it is neither a LIST nor a SET.
local function measure_audience(audience)
  local kind = redis.call('TYPE', audience).ok
  if kind == 'list' then return redis.call('LLEN', audience), 'list' end
  if kind == 'set' then return redis.call('SCARD', audience), 'set' end
  if kind == 'none' then return 0, 'inline' end
  return nil, 'audience: the key holds a ' .. kind .. ', must be a LIST or a SET'
end

-- intake: hands a checked entry over: the entry leaves `jobs` in the step that lets workers see the job. Also as `intakes`.
-- `common`: see new_common.
-- ARGV: 1 entry id, 2 job id, 3 own id (1/0), 4 dedupe ms, 5 keep ms, 6 worker ('' = do not take), 7 window,
--   8 total (-1 = audience), 9 audience key, 10 not_before, 11 expires_at, 12 member, 13 class ('' = by total),
--   14 quota a minute, 15 number of the worker's connection, 16 what it takes the time for, 17 number of spec pairs,
--   pairs..., recipients of batch 0, 1, ...
-- Returns {'gone'} (another worker did), {'duplicate'}, {'reject', reason}, {'queued'} (of a topic's or
--   condition's job {'queued', source, size} of the estimate of its audience), {'done'} (no recipients),
--   or {'taken', epoch, permits} when the job is one batch and `worker` holds it now.
-- No function sees the keys that it writes before intake_end lists the job. After an error the entry is still in
-- `jobs`, and the repeated call writes the keys again.
local function intake(base, args, common)
  local entry, id, own = args[1], args[2], args[3] == '1'
  local job = base .. 'job:' .. id
  local spec, seen = base .. 'spec:' .. id, base .. 'seen:' .. id
  if common.taken[entry] then return { 'gone' } end
  -- As a rule nothing was heard of the job or its entry, and nothing waits in front of it: one question tells.
  -- Where a job of the same call has found it so, of what waits nothing need be asked again.
  local is_first
  if common.is_calm then
    is_first = redis.call('EXISTS', spec, seen, job, base .. 'rolled:' .. id) == 0
  else
    is_first = redis.call('EXISTS', spec, seen, job, base .. 'rolled:' .. id, base .. 'unwanted', base .. 'singles') == 0
    common.is_calm = is_first
  end
  if not is_in_jobs(base, entry, is_first) then return { 'gone' } end
  if not is_first then
    refuse_stuck(id)
    local from = redis.call('HGET', spec, 'entry')
    -- The spec is this entry's own if an error stopped an earlier call.
    if from ~= entry and (from or (own and redis.call('EXISTS', seen) == 1)) then
      return note_duplicate(base, id, entry, common)
    end
  end
  local total, source, audience = tonumber(args[8]), 'inline', args[9]
  if audience ~= '' then
    total, source = measure_audience(audience)
    if not total then return { 'reject', source } end
  end

  if not common.ctl then
    common.ctl = look(base)
    common.now, common.wall = steady_ms(base, tonumber(args[16]), common.ctl)
  end
  local ctl, now, wall, npairs = common.ctl, common.now, common.wall, tonumber(args[17])
  local unwanted = not is_first and is_unwanted(base, entry)
  local class, held = args[13], tonumber(args[10]) > wall
  if class == '' then class = total > BATCH and 'fanout' or 'single' end
  -- One batch, and the worker that read it has room: it need not come back for its recipients.
  local now_taken = total > 0 and source == 'inline' and args[6] ~= '' and not held and not unwanted
    and not takes_turns(class) and class ~= 'managed' and not must_queue(base, id, args, class, common, is_first)
  local _, estimated, size
  if not is_first then redis.call('UNLINK', job, spec, base .. 'rcpt:' .. id) end
  if total == 0 then
    new_job(job, 'done', 0, wall, 'finished_ms', int(wall), 'first_pass_ms', int(wall))
    redis.call('PEXPIRE', job, args[5])
    if own then common.seen[#common.seen + 1] = { 'SET', seen, entry, 'PX', args[4] } end
  else
    local first = 18 + 2 * npairs
    for i = first, #args do redis.call('HSET', base .. 'rcpt:' .. id, int(i - first), args[i]) end
    if now_taken then
      new_job(job, 'active', total, wall, 'started_ms', int(wall))
    else
      new_job(job, held and 'scheduled' or 'waiting', total, wall)
    end
    redis.call('HSET', spec, 'entry', entry, 'total', int(total), 'left', int(total), 'next',
      now_taken and int(total) or '0', 'source', source, 'keep', args[5], 'member', args[12], 'class', class,
      unpack(args, 18, 17 + 2 * npairs))
    if audience ~= '' then redis.call('HSET', spec, 'audience', audience) end
    if class == 'aimed' then _, estimated, size = estimate_audience(base, id) end
    if own then redis.call('SET', seen, entry, 'PX', args[4]) end
  end
  local reply = { total == 0 and 'done' or 'queued' }
  if now_taken then
    local epoch = next_epoch(base, now, ctl, wall)
    open_batch(base, id, '0', args[6], epoch, args[7], { 'from', '0', 'count', int(total) })
    if class == 'group' then redis.call('SADD', base .. 'groups_on', id) end
    reply = { 'taken', epoch, int(lend(base, ctl, tonumber(args[14]), now, 0, total, 0)) }
    note_for_end(common, 'claimed', args[6], id .. '/0')
  elseif total > 0 then
    common.is_calm = false
    if source == 'set' then note_for_end(common, 'copying', 'all', id) end
    if unwanted then
      redis.call('HSET', spec, 'ending', 'cancelled')
      -- A job whose audience is being copied ends when the copy is whole.
      if source ~= 'set' then note_for_end(common, 'timed', 'ending', { int(now), id }) end
    elseif held then
      note_for_end(common, 'timed', 'sched', { args[10], id })
    elseif source ~= 'set' then
      note_for_end(common, 'timed', QUEUES[class], { '0', args[12] })
      if class == 'single' then common.is_queued = true end
    end
  end
  common.taken[entry] = true
  note_for_end(common, 'entries', 'all', entry)
  if unwanted then note_for_end(common, 'wanted', 'all', entry) end
  if total > 0 then
    note_for_end(common, 'opened', 'all', id)
    if tonumber(args[11]) > 0 and not unwanted then note_for_end(common, 'timed', 'expiring', { args[11], id }) end
    change(ctl, 'left', int((tonumber(ctl.left) or 0) + total))
  end
  if estimated then return { 'queued', estimated, int(size) } end
  return reply
end

-- The step that lets workers see the jobs of one call, and takes their entries out of `jobs`.
local function intake_end(base, common)
  if not common.entries then
    if common.ctl then keep(base, common.ctl) end
    return
  end
  in_step(base, '', function()
    for worker, names in pairs(common.claimed or {}) do write('SADD', base .. 'claims:' .. worker, unpack(names)) end
    for set, members in pairs(common.timed or {}) do
      for _, one in ipairs(members) do write('ZADD', base .. set, unpack(one)) end
    end
    if common.copying then write('SADD', base .. 'copying', unpack(common.copying.all)) end
    if common.opened then write('SADD', base .. 'jobs_open', unpack(common.opened.all)) end
    for job, count in pairs(common.duplicates or {}) do write('HSET', job, 'duplicates', int(count)) end
    for _, set in ipairs(common.seen) do write(unpack(set)) end
    if common.ctl then keep(base, common.ctl) end
    if common.wanted then write('SREM', base .. 'unwanted', unpack(common.wanted.all)) end
    take_entries(base, common.entries.all)
  end)
end

-- reject: an entry that breaks a rule goes to `dead` with its fields; its id is not remembered.
-- ARGV: entry id, job id, reason, keep ms, name, value, ... Returns {'gone'} or {'rejected'}.
local function reject(keys, args)
  local base = keys[1]
  local entry, id = args[1], args[2]
  local job = base .. 'job:' .. id
  if not is_in_jobs(base, entry) then return { 'gone' } end
  -- A rejected entry must not spoil the record of a job that runs, or ran, under the same id.
  local now, state = now_ms(), redis.call('HGET', job, 'state')
  local dead = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', args[3], 'kind', 'rejected',
    'entry_id', entry, 'at_ms', int(now) }
  for i = 5, #args, 2 do
    dead[#dead + 1] = 'f.' .. args[i]
    dead[#dead + 1] = args[i + 1]
  end
  may(base, 'reject')
  redis.call(unpack(dead))
  in_step(base, id, function()
    if not state or state == 'rejected' then
      write('DEL', job)
      new_job(job, 'rejected', 0, now, 'finished_ms', int(now), 'reason', args[3])
      write('PEXPIRE', job, args[4])
    end
    write('SREM', base .. 'unwanted', entry)
    take_entries(base, { entry })
  end)
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
  local values = redis.call('HMGET', spec, 'audience', 'total', 'cursor', 'run', 'member', 'restarts', 'copied')
  if not values[1] or redis.call('SISMEMBER', base .. 'copying', id) == 0 then return { 'gone' } end
  local total = tonumber(values[2])
  if redis.call('TYPE', values[1]).ok ~= 'set' then
    park(base, id, 'audience: it is not a SET any more', now)
    return { 'parked' }
  end
  local cursor, run = values[3], values[4]
  -- A call that an error stopped has added members that are not behind the stored cursor: start over.
  if run ~= args[2] or (values[7] and tonumber(values[7]) ~= redis.call('LLEN', list)) then
    redis.call('UNLINK', list)
    cursor = '0'
  end
  local page = redis.call('SSCAN', values[1], cursor, 'COUNT', args[3])
  for i = 1, #page[2], 500 do redis.call('RPUSH', list, unpack(page[2], i, math.min(i + 499, #page[2]))) end
  local copied = redis.call('LLEN', list)
  redis.call('HSET', spec, 'cursor', page[1], 'run', args[2], 'copied', int(copied))
  if page[1] ~= '0' then return { 'more', int(copied) } end
  if redis.pcall('SCARD', values[1]) ~= total then
    park(base, id, 'audience: its size changed while it was read', now)
    return { 'parked' }
  end
  if copied ~= total then
    -- The table was resized under the scan, which may show a member twice: begin again.
    redis.call('HSET', spec, 'run', '')
    if tonumber(values[6] or '0') >= 5 then
      park(base, id, 'audience: the SET cannot be read in a fixed order, use a LIST', now)
      return { 'parked' }
    end
    redis.call('HINCRBY', spec, 'restarts', 1)
    return { 'more', '0' }
  end
  local job = load_spec(base, id)
  in_step(base, id, function()
    write('SREM', base .. 'copying', id)
    write('HSET', spec, 'whole', '1')
    if job.ending then
      write('ZADD', base .. 'ending', int(now), id)
    elseif not job.paused then
      restore(base, id, job, now, { copying = false })
    end
  end)
  return { 'whole' }
end

