-- Intake: an entry of `jobs` becomes a job, or goes to `dead`.

local intake, reject

-- Sends to device groups in flight at once, half of what FCM allows.
local MOST_GROUPS = 500

do

-- Opens a batch for a worker. No function finds its hash before it is in the worker's claims.
function handover.open_batch(base, id, n, worker, epoch, watermark, fields)
  write('HSET', base .. 'b:' .. id .. '/' .. n, 'owner', worker, 'epoch', epoch, 'upto', watermark, 'deliveries', '1',
    unpack(fields))
end

function handover.mark_active(base, id, now)
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'waiting' or state == 'scheduled' then
    write('HSET', job, 'state', 'active')
    write('HSETNX', job, 'started_ms', int(wall_ms()))
  end
end

-- Whether an entry is still in `jobs`, which it leaves last. If the group was deleted, nothing is pending, and XRANGE
-- still finds the entry. `is_first`: no key of the entry's job exists.
function handover.is_in_jobs(base, entry, is_first)
  if is_first then
    local pending = redis.pcall('XPENDING', base .. 'jobs', 'fanfare', entry, entry, 1)
    if not pending.err and #pending > 0 then return true end
  end
  return #redis.call('XRANGE', base .. 'jobs', entry, entry) > 0
end

-- Deletes entries from `jobs`, then acknowledges them. After the deletion alone, Redis drops the pending entries.
local function take_entries(base, entries)
  write('XDEL', base .. 'jobs', unpack(entries))
  write('XACK', base .. 'jobs', 'fanfare', unpack(entries))
end

-- When an entry was pushed: the time in its id. A producer may choose the id, so a time that cannot be right is `wall`.
function handover.pushed_at(entry, wall)
  local at = tonumber(string.match(entry, '^%d+'))
  return at and at <= wall and at > wall - 30 * 24 * HOUR and at or wall
end

local function new_job(job, state, total, now, ...)
  write('HSET', job, 'state', state, 'total', int(total), 'sent', '0', 'failed', '0', 'unknown', '0',
    'cancelled', '0', 'expired', '0', 'retrying', '0', 'maybe_dup', '0', 'duplicates', '0', 'created_ms', int(now), ...)
end

-- Whether a worker is dead, or has a later connection. If not, its lease rests no more: it may be given the job.
local function is_unavailable(base, worker, link, common)
  local name = worker .. ' ' .. link
  if common.unavailable[name] == nil then
    common.unavailable[name] = not is_current(base, worker, link) or not end_rest(base, worker)
  end
  return common.unavailable[name]
end

-- Whether a worker that has read a job of one batch may not take it at once. `is_first`: no job stands before it.
function handover.must_queue(base, job, common, is_first)
  local control, now, wall = common.control, common.now, common.wall
  return control.block or control.pause or control.pressure or control.alone == job.worker
    or (tonumber(control.hold_until) or 0) > now or (job.expires_at > 0 and job.expires_at <= wall)
    or (job.class == 'group' and redis.call('SCARD', base .. 'groups_on') >= MOST_GROUPS)
    or common.is_queued or (not is_first and redis.call('EXISTS', base .. 'singles', base .. 'rolled:' .. job.id) > 0)
    or is_unavailable(base, job.worker, job.connection, common)
end

-- Reads what the calls of one call share, with the first of them.
function handover.read_time(base, common, worker_clock)
  if common.control then return end
  common.control = read_control(base)
  common.now, common.wall = project_ms(base, tonumber(worker_clock), common.control)
end

-- Drops an entry whose job id is taken: it leaves `jobs`, and the job counts it as a duplicate.
local function drop_duplicate(base, id, entry, common)
  local job = base .. 'job:' .. id
  collect(common, 'entries', 'all', entry)
  if redis.call('SISMEMBER', base .. 'unwanted', entry) == 1 then collect(common, 'wanted', 'all', entry) end
  common.duplicates = common.duplicates or {}
  local known = common.duplicates[job] or tonumber(redis.call('HGET', job, 'duplicates'))
  if known then common.duplicates[job] = known + 1 end
  return 'duplicate'
end

-- The length and the type of an audience; nil and a reason when it is neither a LIST nor a SET.
local function measure_audience(audience)
  local kind = redis.call('TYPE', audience).ok
  if kind == 'list' then return redis.call('LLEN', audience), 'list' end
  if kind == 'set' then return redis.call('SCARD', audience), 'set' end
  if kind == 'none' then return 0, 'inline' end
  return nil, 'audience: the key holds a ' .. kind .. ', must be a LIST or a SET'
end

-- Whether Redis knows nothing of the job and its entry, and no job waits before it: usually a single EXISTS decides.
-- Once a job of the call has found it so, only the job's own keys are asked for.
local function is_new(base, id, common)
  if redis.call('HEXISTS', base .. 'compact', id) == 1 then return false end
  local spec, seen, job, rolled = base .. 'spec:' .. id, base .. 'seen:' .. id, base .. 'job:' .. id,
    base .. 'rolled:' .. id
  if common.is_calm then return redis.call('EXISTS', spec, seen, job, rolled) == 0 end
  common.is_calm = redis.call('EXISTS', spec, seen, job, rolled, base .. 'unwanted', base .. 'singles') == 0
  return common.is_calm
end

-- Whether the job's id is taken. The spec, or the id, is this entry's own if an error stopped an earlier call.
local function is_duplicate(base, job)
  local from = redis.call('HGET', base .. 'spec:' .. job.id, 'entry')
  -- GETRANGE, which users of earlier versions may run.
  if not from and job.has_own_id then from = redis.call('GETRANGE', base .. 'seen:' .. job.id, 0, -1) end
  return from and from ~= '' and from ~= job.entry
end

-- Whether the job that has an entry's id is about to end and has no result with an attempt: its end may free the id.
local function may_free_id(base, id)
  local spec = read_fields(base .. 'spec:' .. id, { 'ending', 'expires_at', 'total', 'left', 'untried' })
  local finished, expires_at = tonumber(spec.total or 0) - tonumber(spec.left or 0), tonumber(spec.expires_at or 0)
  return (spec.ending or (expires_at > 0 and expires_at <= wall_ms())) and finished == tonumber(spec.untried or 0)
end

-- Fields of a job's spec that its hash shows, where they are not the default. They outlive the spec.
local SHOWN = { kind = true, op = true, priority = true, format = true, delivery = true, results = true,
  validate_only = true, expires_at = true, personal = true, rate = true, canary = true, canary_wait_ms = true,
  stop_if = true, send_window = true, reason = true }

-- The pairs of a job's hash that say how it is sent. `first_pair`, `first_batch`: see write_job.
local function shown_fields(job, args, first_pair, first_batch)
  local fields = {}
  for i = first_pair, first_batch - 2, 2 do
    local name, value = args[i], args[i + 1]
    -- See JobSpec.campaignMark.
    if name == 'kind' then value = string.gsub(value, '%+$', '') end
    if name == 'personal' then job.is_personal = true end
    if SHOWN[name] and value ~= 'token' then add_pair(fields, name, value) end
  end
  if job.not_before ~= '0' then add_pair(fields, 'not_before', job.not_before) end
  if job.class == BROADCAST then add_pair(fields, 'target', args[first_batch]) end
  return fields
end

-- Writes a job without recipients, which is over. Its id stays free: there was no attempt.
local function write_empty_job(base, job, fields, common)
  local key, wall = base .. 'job:' .. job.id, int(common.wall)
  if job.has_own_id then add_pair(fields, 'id_free', '1') end
  new_job(key, 'done', 0, handover.pushed_at(job.entry, common.wall), 'finished_ms', wall, 'first_pass_ms', wall,
    unpack(fields))
  redis.call('PEXPIRE', key, job.keep_ms)
  if job.has_own_id then
    collect(common, 'finished', 'all', wall)
    collect(common, 'finished', 'all', job.id)
  end
end

-- Writes a job's hash, spec and recipients. `first_pair`: the place of the spec's pairs in `args`; recipients follow.
-- Returns the source and size of a broadcast's audience.
local function write_job(base, job, args, first_pair, common)
  local id, wall, total = job.id, common.wall, int(job.total)
  local key, spec, first_batch = base .. 'job:' .. id, base .. 'spec:' .. id, first_pair + 2 * job.pairs
  local fields = shown_fields(job, args, first_pair, first_batch)
  local created = handover.pushed_at(job.entry, wall)
  if job.is_taken then
    new_job(key, 'active', job.total, created, 'started_ms', int(wall), unpack(fields))
  else
    new_job(key, job.is_scheduled and 'scheduled' or 'waiting', job.total, created, unpack(fields))
  end
  redis.call('HSET', spec, 'entry', job.entry, 'total', total, 'left', total, 'next', job.is_taken and total or '0',
    'source', job.source, 'keep', job.keep_ms, 'member', job.member, 'class', job.class,
    unpack(args, first_pair, first_batch - 1))
  -- After the spec, by which a short call finds what an error left of this one.
  for i = first_batch, #args do write_recipients(base, id, int(i - first_batch), args[i], job.is_personal) end
  if job.audience ~= '' then redis.call('HSET', spec, 'audience', job.audience) end
  if job.born then redis.call('HSET', spec, 'born', job.born) end
  local _, source, size
  if job.class == BROADCAST then _, source, size = estimate_audience(base, id) end
  if job.has_own_id then redis.call('SET', base .. 'seen:' .. id, job.entry, 'PX', job.dedupe_ms) end
  return source, size
end

-- Writes a compact job as a job that its worker has taken: see compact.lua. `args`: of intake. `epoch`: of its batch; nil
-- for a job whose recipient waits for a retry, and which has no batch.
function handover.write_taken(base, args, epoch, started_ms)
  local entry, id, _, _, keep_ms, worker, window, _, _, not_before, _, member, class, _, _, _, pairs_count = unpack(args, 1, 17)
  -- A recipient that waits is in wait:<id>.
  if not epoch then args[18 + 2 * tonumber(pairs_count)] = nil end
  write_job(base, { entry = entry, id = id, keep_ms = keep_ms, total = 1, source = 'inline', audience = '',
    not_before = not_before, member = member, class = class == '' and 'single' or class, pairs = tonumber(pairs_count),
    is_taken = true }, args, 18, { wall = tonumber(started_ms) })
  if not epoch then return end
  handover.open_batch(base, id, '0', worker, epoch, window, { 'from', '0', 'count', '1' })
end

-- Gives a job of one batch to the worker that has read it. Returns the reply.
local function take_job(base, job, common)
  local control, now = common.control, common.now
  local epoch = next_epoch(base, now, control, common.wall)
  handover.open_batch(base, job.id, '0', job.worker, epoch, job.window, { 'from', '0', 'count', int(job.total) })
  if job.class == 'group' then redis.call('SADD', base .. 'groups_on', job.id) end
  local permits = lend(base, control, lowest_quota(control, job.quota), now, { returned = 0, single = job.total, fanout = 0 })
  collect(common, 'claimed', job.worker, job.id .. '/0')
  return { 'outcome', 'taken', 'epoch', epoch, 'permits', int(permits) }
end

-- Puts a job where it waits: for its end, its time, its copy or a worker.
local function queue_job(base, job, common)
  common.is_calm = false
  if job.source == 'set' then collect(common, 'copying', 'all', job.id) end
  if job.is_unwanted then
    redis.call('HSET', base .. 'spec:' .. job.id, 'ending', 'cancelled')
    -- A job whose audience is being copied ends when the copy is complete.
    if job.source ~= 'set' then collect(common, 'timed', 'ending', { int(common.now), job.id }) end
  elseif job.is_scheduled then
    collect(common, 'timed', 'sched', { job.not_before, job.id })
  elseif job.source ~= 'set' then
    collect(common, 'timed', QUEUES[job.class], { '0', job.member })
    if job.class == 'single' then common.is_queued = true end
  end
end

-- Collects what handover.finish writes for a job that was handed over.
local function collect_job(job, common)
  common.jobs[job.entry] = true
  collect(common, 'entries', 'all', job.entry)
  if job.is_unwanted then collect(common, 'wanted', 'all', job.entry) end
  if job.total == 0 then return end
  collect(common, 'opened', 'all', job.id)
  if job.expires_at > 0 and not job.is_unwanted then
    collect(common, 'timed', 'expiring', { int(job.expires_at), job.id })
  end
  set_control(common.control, 'left', int((tonumber(common.control.left) or 0) + job.total))
end

-- intake: hands a checked entry over: it leaves `jobs` in the step that lets workers see the job. Also as `intakes`.
-- For the arguments see IntakeCall in Functions/Intake.swift; besides:
--   has_own_id    1: the producer named the job
--   worker        '' when no worker may take the job
--   window        the watermark of a batch that the worker takes
--   total         -1 for an audience
--   class         '' decides by the total
--   worker_clock  see project_ms
--   pairs_count   number of the spec's pairs, which follow. After them stand the recipients of batch 0, 1, ...
-- `common`: see new_common. `hold_ms` of a broadcast's spec says how long it keeps the slot; it holds no project.
-- Returns one of these:
--   'gone'        another worker handed the entry over
--   'duplicate'   the job's id is taken
--   'done'        the job has no recipients
--   'queued'      for a broadcast with `source` and `size` of its audience
--   'reject'      with a `reason`
--   'taken'       with `epoch` and `permits`: the worker holds the job's one batch
-- or the error ENDING: the entry stays in `jobs` until the job that has its id has ended, and is then handed over.
-- No function sees the job's keys until handover.finish lists it: after an error the repeated call writes them again.
function intake(base, args, common)
  local entry, id, has_own_id, dedupe_ms, keep_ms, worker, window, total, audience, not_before, expires_at, member,
    class, quota, connection, worker_clock, pairs_count = unpack(args, 1, 17)
  if common.jobs[entry] then return 'gone' end
  local is_first = is_new(base, id, common)
  if not handover.is_in_jobs(base, entry, is_first) then return 'gone' end
  local job = { entry = entry, id = id, has_own_id = has_own_id == '1', dedupe_ms = dedupe_ms, keep_ms = keep_ms,
    worker = worker, window = window, total = tonumber(total), source = 'inline', audience = audience,
    not_before = not_before, expires_at = tonumber(expires_at), member = member, class = class,
    quota = tonumber(quota), connection = connection, pairs = tonumber(pairs_count), is_unwanted = false,
    is_scheduled = false, is_taken = false, is_personal = false }
  if not is_first then
    refuse_stuck(id)
    local is_made, reply = try(base, compact.expand, id)
    -- A job with that id that cannot be expanded now stops no other entry.
    if not is_made then return redis.error_reply('ENDING ' .. reply.err) end
    if is_duplicate(base, job) then
      -- A cancelled entry needs no job of its own.
      if may_free_id(base, id) and redis.call('SISMEMBER', base .. 'unwanted', entry) == 0 then
        return redis.error_reply('ENDING job ' .. id .. ' is about to end, which may free its id')
      end
      return drop_duplicate(base, id, entry, common)
    end
  end
  if audience ~= '' then
    local length, source = measure_audience(audience)
    if not length then return { 'outcome', 'reject', 'reason', source } end
    job.total, job.source = length, source
  end
  handover.read_time(base, common, worker_clock)
  job.is_unwanted = not is_first and redis.call('SISMEMBER', base .. 'unwanted', entry) == 1
  job.is_scheduled = tonumber(not_before) > common.wall
  if class == '' then job.class = job.total > BATCH and 'fanout' or 'single' end
  -- One batch, and the worker that has read it has room: it need not come back for the recipients.
  job.is_taken = job.total > 0 and job.source == 'inline' and worker ~= '' and not job.is_scheduled
    and not job.is_unwanted and not needs_slot(job.class) and job.class ~= 'managed'
    and not handover.must_queue(base, job, common, is_first)
  if not is_first then
    local parts = redis.call('UNLINK', base .. 'spec:' .. id, base .. 'rcpt:' .. id)
    -- Without such parts the hash is that of an earlier job, whose facts and claims have older epochs.
    if redis.call('UNLINK', base .. 'job:' .. id) > parts then
      job.born = next_epoch(base, common.now, common.control, common.wall)
    end
  end
  local reply, estimated, size = job.total == 0 and 'done' or 'queued', nil, nil
  if job.total == 0 then
    write_empty_job(base, job, shown_fields(job, args, 18, 18 + 2 * job.pairs), common)
  else
    estimated, size = write_job(base, job, args, 18, common)
    if job.is_taken then reply = take_job(base, job, common) else queue_job(base, job, common) end
  end
  collect_job(job, common)
  if estimated then return { 'outcome', 'queued', 'source', estimated, 'size', int(size) } end
  return reply
end

-- The step that lets workers see the jobs of one call, and takes their entries out of `jobs`.
function handover.finish(base, common)
  if not common.entries then
    if common.control then write_control(base, common.control) end
    return
  end
  in_step(base, '', function()
    for worker, names in pairs(common.claimed or {}) do write('SADD', base .. 'claims:' .. worker, unpack(names)) end
    for worker, notes in pairs(common.notes or {}) do write('HSET', base .. 'compact:' .. worker, unpack(notes)) end
    for set, members in pairs(common.timed or {}) do
      for _, member in ipairs(members) do write('ZADD', base .. set, unpack(member)) end
    end
    if common.finished then list_finished(base, common.finished.all) end
    if common.copying then write('SADD', base .. 'copying', unpack(common.copying.all)) end
    if common.opened then write('SADD', base .. 'jobs_open', unpack(common.opened.all)) end
    for job, count in pairs(common.duplicates or {}) do write('HSET', job, 'duplicates', int(count)) end
    if common.control then write_control(base, common.control) end
    if common.wanted then write('SREM', base .. 'unwanted', unpack(common.wanted.all)) end
    take_entries(base, common.entries.all)
  end)
end

-- Moves what cannot be sent to `dead`. `rejected`: its id, entry, reason and keep_ms; `fields`: names and values in turns;
-- `also`: a function that adds writes to the step.
function handover.write_dead(base, rejected, fields, also)
  local id, entry, reason = rejected.id, rejected.entry, rejected.reason
  local job = base .. 'job:' .. id
  -- A rejected entry must not change the record of a job that runs, or ran, under the same id.
  local now, state = wall_ms(), redis.call('HGET', job, 'state')
  local dead = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', reason, 'kind', 'rejected', 'entry_id', entry,
    'at_ms', int(now) }
  for i = 1, #fields, 2 do
    add_pair(dead, 'f.' .. fields[i], fields[i + 1])
  end
  check_rights(base, 'reject')
  -- Each repeated call would add an entry.
  refuse_stuck(id)
  -- The newest eight, for rejected_entry.
  local newest = { redis.call(unpack(dead)) }
  for known in string.gmatch(redis.call('HGET', base .. 'ctl', 'rejected') or '', '%S+') do
    if #newest < 8 then newest[#newest + 1] = known end
  end
  in_step(base, id, function()
    write('HSET', base .. 'ctl', 'rejected', table.concat(newest, ' '))
    also()
    if not state or state == 'rejected' then
      write('DEL', job)
      new_job(job, 'rejected', 0, handover.pushed_at(entry, now), 'finished_ms', int(now), 'reason', reason)
      write('PEXPIRE', job, rejected.keep_ms)
      if id ~= entry then list_finished(base, { int(now), id }) end
    end
  end)
end

-- reject: moves an entry that breaks a rule to `dead`. Its fields are further arguments. Returns 'gone' or 'rejected'.
function reject(base, args)
  local entry, id, reason, keep_ms = unpack(args, 1, 4)
  if not handover.is_in_jobs(base, entry) then return 'gone' end
  compact.expand(base, id)
  handover.write_dead(base, { id = id, entry = entry, reason = reason, keep_ms = keep_ms }, { unpack(args, 5) }, function()
    write('SREM', base .. 'unwanted', entry)
    take_entries(base, { entry })
  end)
  return 'rejected'
end

end
