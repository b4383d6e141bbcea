-- fleet: what the dashboard and `fanfare top` read of every project each second. Its cost is bounded, whatever the
-- project holds, and it writes nothing.

local recipients_left, fleet
do

-- A job of a list: its id, its hash, and how it is run; nil when there is none. A stored priority is an unusual one.
local function describe_job(base, id)
  local job = redis.call('HGETALL', base .. 'job:' .. id)
  if #job == 0 then return nil end
  local class, priority, ending = unpack(redis.call('HMGET', base .. 'spec:' .. id, 'class', 'priority', 'ending'))
  return { 'id', id, 'job', job, 'class', class or '', 'priority', priority or class and '5' or '',
    'ending', ending or '' }
end

-- `names` -> jobs, without jobs in `known`, which grows.
local function describe_jobs(base, names, known, most)
  local jobs = {}
  for _, id in ipairs(names) do
    if #jobs >= most then break end
    if not known[id] then
      known[id] = true
      jobs[#jobs + 1] = describe_job(base, id)
    end
  end
  return jobs
end

-- When the oldest entry of `jobs` was pushed; `wall` when there is none.
local function oldest_entry(base, wall)
  local jobs, behind = base .. 'jobs', '-'
  local pending = redis.pcall('XPENDING', jobs, 'fanfare')
  if not pending.err then
    local count, first = unpack(pending)
    if tonumber(count) > 0 then return tonumber(string.match(first, '^%d+')) or wall end
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', jobs)) do
      local map = pairs_to_map(group)
      if map.name == 'fanfare' then behind = '(' .. map['last-delivered-id'] end
    end
  end
  -- Whole entries are read, which may be large: only the first that no worker was given.
  local entry = unpack(redis.call('XRANGE', jobs, behind, '+', 'COUNT', 1))
  local id = entry and unpack(entry)
  return id and tonumber(string.match(id, '^%d+')) or wall
end

-- Age of the oldest job that no worker has begun: an entry of `jobs`, or a job in a queue.
local function oldest_wait(base, wall)
  local oldest = math.min(wall, oldest_entry(base, wall))
  for _, queue in ipairs({ 'singles', 'groups', 'managed', 'queue' }) do
    for _, member in ipairs(redis.call('ZRANGE', base .. queue, 0, 19)) do
      local created_ms, started_ms = unpack(redis.call('HMGET', base .. 'job:' .. job_of_member(member), 'created_ms',
        'started_ms'))
      if created_ms and not started_ms then oldest = math.min(oldest, tonumber(created_ms)) end
    end
  end
  return math.max(0, wall - oldest)
end

-- Results that the slowest group of readers has not acknowledged; '' when there is no group.
local function unread(base)
  local most = -1
  if redis.call('EXISTS', base .. 'results') == 0 then return '' end
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', base .. 'results')) do
    most = math.max(most, unacknowledged(base .. 'results', pairs_to_map(group)))
  end
  return most < 0 and '' or int(most)
end

-- Some members of a set.
local function scan(key, count)
  local _, members = unpack(redis.call('SSCAN', key, '0', 'COUNT', count))
  return members
end

-- Recipients without a result, except in jobs that need an operator.
function recipients_left(base)
  local left = tonumber(redis.call('HGET', base .. 'ctl', 'left') or '0')
  for _, id in ipairs(scan(base .. 'jobs_parked', 100)) do
    left = left - (tonumber(redis.call('HGET', base .. 'spec:' .. id, 'left')) or 0)
  end
  return math.max(0, left)
end

-- Each worker: its name, how long it has been silent ('' = it has reported nothing), its report, and its batches.
local function describe_workers(base, wall)
  local workers = {}
  for _, worker in ipairs(redis.call('HKEYS', base .. 'leases')) do
    local about = redis.call('HGET', base .. 'about', worker)
    local at, text
    if about then at, text = string.match(about, '^(%d+)|(.*)$') end
    workers[#workers + 1] = { 'name', worker, 'silent_ms', at and int(math.max(0, wall - tonumber(at))) or '',
      'about', text or '', 'batches', int(redis.call('SCARD', base .. 'claims:' .. worker)) }
  end
  return workers
end

-- The newest rejected entry that is still in `dead`: an empty list without one. Entries are whole jobs, so that no more
-- are read than are needed.
local function rejected_entry(base)
  for id in string.gmatch(redis.call('HGET', base .. 'ctl', 'rejected') or '', '%S+') do
    for _, entry in ipairs(redis.call('XRANGE', base .. 'dead', id, id)) do
      local _, pairs_of_entry = unpack(entry)
      local fields = pairs_to_map(pairs_of_entry)
      return { 'entry', id, 'job', fields.job or '', 'reason', fields.reason or '', 'at_ms', fields.at_ms or '' }
    end
  end
  return {}
end

-- `most`: jobs of each list; 1 for workers and programs that need no list. Returns the pairs of `overview` and of
-- ProjectSnapshot+Reply.swift; `holding`, `queued`, `needing`, `others`: jobs that hold the slot, wait for it in their
-- order, need an operator, and some others; `stopped`: jobs that a guard stopped, which may be among the others;
-- `rejected`: see rejected_entry.
function fleet(base, args)
  local most = unpack(args, 1, 1)
  most = tonumber(most)
  -- Not project_ms, whose time stands while no worker claims.
  local wall = wall_ms()
  local now = wall + (tonumber(redis.call('HGET', base .. 'ctl', 'lead')) or 0)
  local reply, known, queued = overview(base), {}, {}
  local block, block_until, have = unpack(redis.call('HMGET', base .. 'ctl', 'block', 'block_until', 'have'))
  local function add(name, value) add_pair(reply, name, value) end
  add('left', int(recipients_left(base)))
  add('oldest_ms', int(oldest_wait(base, wall)))
  for _, queue in ipairs({ 'singles', 'groups', 'managed' }) do add(queue, int(redis.call('ZCARD', base .. queue))) end
  local dead = redis.call('XLEN', base .. 'dead')
  add('dead', int(dead))
  add('results', int(redis.call('XLEN', base .. 'results')))
  add('unread', unread(base))
  add('probe_ms', block and int(math.max(0, (tonumber(block_until) or 0) - now)) or '0')
  add('have', have or '0')
  add('tally', redis.call('HGETALL', base .. 'tally'))
  add('holding', describe_jobs(base, redis.call('HKEYS', base .. 'active'), known, most))
  for i, member in ipairs(redis.call('ZRANGE', base .. 'queue', 0, most - 1)) do queued[i] = job_of_member(member) end
  add('queued', describe_jobs(base, queued, known, most))
  add('needing', describe_jobs(base, scan(base .. 'jobs_parked', most), known, most))
  add('others', describe_jobs(base, scan(base .. 'jobs_open', 3 * most), known, most))
  add('stopped', pauses.stopped(base, most, now))
  local has_rejected = most > 1 and dead > redis.call('SCARD', base .. 'jobs_parked')
  add('rejected', has_rejected and rejected_entry(base) or {})
  add('leases', describe_workers(base, wall))
  return reply
end

end
