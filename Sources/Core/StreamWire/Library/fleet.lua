
-- ---------------------------------------------------------------------------------------------------------------
-- fleet: what a person sees of one project, at one moment, for whoever looks at every project each second. What it costs
-- is bounded, whatever the project holds, and it writes nothing.

-- A job as it is listed: its id, its hash, and how it is run; nil when there is none.
local function listed(base, id)
  local job = redis.call('HGETALL', base .. 'job:' .. id)
  if #job == 0 then return nil end
  local spec = redis.call('HMGET', base .. 'spec:' .. id, 'class', 'priority', 'ending')
  -- What is not written is the usual; of a job that is over nothing is known.
  return { id, job, spec[1] or '', spec[2] or spec[1] and '5' or '', spec[3] or '' }
end

-- `names` -> jobs, without those that are in `known`, which grows.
local function list(base, names, known, most)
  local jobs = {}
  for _, id in ipairs(names) do
    if #jobs >= most then break end
    if not known[id] then
      known[id] = true
      jobs[#jobs + 1] = listed(base, id)
    end
  end
  return jobs
end

-- How long ago the oldest job came that nobody has begun: an entry of `jobs`, or a job that waits for a worker or its turn.
local function oldest_wait(base, wall)
  local oldest = wall
  local jobs = base .. 'jobs'
  local pending, behind = redis.pcall('XPENDING', jobs, 'fanfare'), '-'
  if not pending.err and tonumber(pending[1]) > 0 then
    oldest = math.min(oldest, tonumber(string.match(pending[2], '^%d+')) or wall)
  elseif redis.call('XLEN', jobs) > 0 then
    -- Whole entries are read, which may be large, so only the first that no worker was given.
    if not pending.err then
      for _, group in ipairs(redis.call('XINFO', 'GROUPS', jobs)) do
        local map = pairs_to_map(group)
        if map.name == 'fanfare' then behind = '(' .. map['last-delivered-id'] end
      end
    end
    local entry = redis.call('XRANGE', jobs, behind, '+', 'COUNT', 1)[1]
    if entry then oldest = math.min(oldest, tonumber(string.match(entry[1], '^%d+')) or wall) end
  end
  for _, queue in ipairs({ 'singles', 'groups', 'managed', 'queue' }) do
    for _, member in ipairs(redis.call('ZRANGE', base .. queue, 0, 19)) do
      local id = string.match(member, '^[^/]*/(.*)$')
      local times = redis.call('HMGET', base .. 'job:' .. id, 'created_ms', 'started_ms')
      -- A fan-out that was preempted has begun.
      if times[1] and not times[2] then oldest = math.min(oldest, tonumber(times[1])) end
    end
  end
  return math.max(0, wall - oldest)
end

-- Results that the slowest group of readers has not acknowledged; '' when there is no group.
local function unread(base)
  local most = ''
  if redis.call('EXISTS', base .. 'results') == 0 then return most end
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', base .. 'results')) do
    local map = pairs_to_map(group)
    local behind = map['pending'] + (tonumber(map['lag'] or nil) or redis.call('XLEN', base .. 'results'))
    if most == '' or behind > most then most = behind end
  end
  return most == '' and '' or int(most)
end

-- Recipients without a result; those of jobs that need a person wait for nobody.
local function recipients_left(base)
  local left = tonumber(redis.call('HGET', base .. 'ctl', 'left') or '0')
  for _, id in ipairs(redis.call('SSCAN', base .. 'jobs_parked', '0', 'COUNT', 100)[2]) do
    left = left - (tonumber(redis.call('HGET', base .. 'spec:' .. id, 'left')) or 0)
  end
  return math.max(0, left)
end

-- Each worker: its name, how long it has been silent ('' = it has not said), what it says of itself, batches it holds.
local function crew(base, wall)
  local workers = {}
  for _, worker in ipairs(redis.call('HKEYS', base .. 'leases')) do
    local about = redis.call('HGET', base .. 'about', worker)
    local at, text
    if about then at, text = string.match(about, '^(%d+)|(.*)$') end
    workers[#workers + 1] = { worker, at and int(math.max(0, wall - tonumber(at))) or '', text or '',
      int(redis.call('SCARD', base .. 'claims:' .. worker)) }
  end
  return workers
end

-- ARGV: jobs of each list at most. Returns a flat map: what `overview` gives, and
--   left: recipients without a result; oldest_ms: how long the oldest job waits that nobody has begun;
--   singles groups managed: jobs that wait for a worker; dead: entries; results: entries; unread: as above;
--   probe_ms: until a blocked project is tried again; have: permits at hand;
--   tally: flat, what became of recipients since the beginning, and the retries;
--   holding queued needing others: jobs that hold the slot, that wait for it in their order, that need a person, and
--   some of all others; crew: workers.
local function fleet(keys, args)
  local base, most = keys[1], tonumber(args[1])
  local now, wall = steady_ms(base)
  local reply, known = overview(keys), {}
  local ctl = redis.call('HMGET', base .. 'ctl', 'block', 'block_until', 'have')
  local queued = {}
  for i, member in ipairs(redis.call('ZRANGE', base .. 'queue', 0, most - 1)) do
    queued[i] = string.match(member, '^[^/]*/(.*)$')
  end
  local function add(name, value)
    reply[#reply + 1] = name
    reply[#reply + 1] = value
  end
  add('left', int(recipients_left(base)))
  add('oldest_ms', int(oldest_wait(base, wall)))
  for _, queue in ipairs({ 'singles', 'groups', 'managed' }) do add(queue, int(redis.call('ZCARD', base .. queue))) end
  add('dead', int(redis.call('XLEN', base .. 'dead')))
  add('results', int(redis.call('XLEN', base .. 'results')))
  add('unread', unread(base))
  add('probe_ms', ctl[1] and int(math.max(0, (tonumber(ctl[2]) or 0) - now)) or '0')
  add('have', ctl[3] or '0')
  add('tally', redis.call('HGETALL', base .. 'tally'))
  add('holding', list(base, redis.call('HKEYS', base .. 'active'), known, most))
  add('queued', list(base, queued, known, most))
  add('needing', list(base, redis.call('SSCAN', base .. 'jobs_parked', '0', 'COUNT', most)[2], known, most))
  add('others', list(base, redis.call('SSCAN', base .. 'jobs_open', '0', 'COUNT', 3 * most)[2], known, most))
  add('crew', crew(base, wall))
  return reply
end
