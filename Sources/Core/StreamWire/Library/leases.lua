-- Leases: a worker lives as long as its counter grows.

local register, renew, end_rest, declare_dead, deregister, spare
do

-- Where a worker's renew counter begins: by it other workers know that this one knows compact jobs. Counters of older
-- workers begin at 0.
local FIRST_COUNTER = '3000000000000'

-- Whether some worker does not know compact jobs.
function compact.has_older_worker(base)
  for _, counter in ipairs(redis.call('HVALS', base .. 'leases')) do
    if (tonumber(counter) or 0) < tonumber(FIRST_COUNTER) then return true end
  end
  return false
end

-- The lease of a worker that holds nothing may rest: the worker renews it seldom, and its counter says so by its size.
-- Whatever gives the worker something ends the rest in the same step.
local FIRST_RESTING = 4000000000000
local TO_REST, FROM_REST = '1000000000000', '-1000000000000'

-- Moves a worker's counter on. `wants_rest`: whether its lease rests from now on if the worker holds nothing, or else no
-- more. False: it has no lease.
local function advance(base, worker, wants_rest)
  local counter = redis.call('HINCRBY', base .. 'leases', worker, 1)
  if counter == 1 then
    redis.call('HDEL', base .. 'leases', worker)
    return false
  end
  local rests = wants_rest and jobs.is_empty_handed(base, worker)
  if rests ~= (counter >= FIRST_RESTING) then
    redis.call('HINCRBY', base .. 'leases', worker, rests and TO_REST or FROM_REST)
  end
  return true
end

-- Ends the rest of a lease before its worker is given anything. False: the worker has no lease.
function end_rest(base, worker)
  local counter = tonumber(redis.call('HGET', base .. 'leases', worker) or nil)
  if counter and counter >= FIRST_RESTING then advance(base, worker, false) end
  return counter ~= nil
end

-- register: announces a worker. Returns 'ok', `news_cursor`: earlier news does not concern the worker, and `counters`, as
-- renew does.
function register(base, args)
  local worker = unpack(args, 1, 1)
  redis.call('HSETNX', base .. 'leases', worker, FIRST_COUNTER)
  advance(base, worker, false)
  redis.call('SADD', base .. 'holders', worker)
  -- A library of an earlier version pauses and resumes without this key.
  if redis.call('HEXISTS', base .. 'ctl', 'pause') == 1 then
    redis.call('SET', base .. 'paused', '1')
  else
    redis.call('DEL', base .. 'paused')
  end
  return { 'outcome', 'ok', 'counters', redis.call('HGETALL', base .. 'leases'),
    'news_cursor', redis.call('HGET', base .. 'ctl', 'said') or '0' }
end

-- renew: keeps a worker's lease. `about`: its report of itself; may be ''. `rests`: 1 if the lease may rest. Returns
-- 'fenced' if the worker was declared dead, or 'ok' and `counters`, each worker with its counter.
function renew(base, args)
  local worker, about, rests = unpack(args, 1, 3)
  if not advance(base, worker, rests == '1') then return 'fenced' end
  if about ~= '' then redis.call('HSET', base .. 'about', worker, int(wall_ms()) .. '|' .. about) end
  return { 'outcome', 'ok', 'counters', redis.call('HGETALL', base .. 'leases') }
end

-- Counts a batch whose worker died. After CRASHES_TO_QUARANTINE in a row without a new result it is quarantined: one
-- project of a process runs such a batch at a time, and nothing else of that project. Other projects send beside it, so a
-- death then proves nothing; it is run again while nothing else of the process is in flight (`alone`), and only a death
-- then parks its job as poison. So no batch is parked for another's fault, and a batch that kills each of its workers is
-- parked by its fifth death, by its fourth where the process has no other project. Other projects wait at most ten
-- seconds for a batch that is alone, twice as long after each further death: a worker then gives it back, and it is
-- `spared`, which means shared again. So a batch that needs longer to kill costs one more death for each doubling.
-- Every batch that the worker held is counted: a claim grants the first sends at once, so Redis cannot know that none
-- had begun. Returns the batch's new count, which its retries inherit.
local function count_crash(base, name, worker, now)
  local batch = base .. 'b:' .. name
  local crashes = (tonumber(redis.call('HGET', batch, 'crashes')) or 0) + 1
  if redis.call('HEXISTS', batch, 'alone') == 0 then return crashes end
  local id, n = split_name(name)
  local function forget()
    write('HDEL', batch, 'alone', 'crashes')
    write('DEL', base .. 'crashed:' .. id)
  end
  local spec = load_spec(base, id)
  if spec and not spec.parked then
    park(base, id, 'poison: batch ' .. n .. ' took its worker down ' .. int(crashes) .. ' times in a row', now,
      { 'batch', n, 'crashes', int(crashes), 'worker', worker }, forget)
  else
    in_step(base, id, forget)
  end
  return 0
end

-- A living worker gives a batch back: alone, the batch has not killed it. Part of a step.
function spare(batch)
  if redis.call('HEXISTS', batch, 'alone') == 0 then return end
  write('HSET', batch, 'spared', '1')
  write('HDEL', batch, 'alone')
end

-- Takes a batch from a worker that is dead or leaves. Part of a step. `crashes`: its new count; nil keeps the old one.
local function free_batch(base, name, worker, now, crashes)
  local batch = base .. 'b:' .. name
  if crashes and crashes > 0 then
    if redis.call('EXISTS', batch) == 1 then
      write('HSET', batch, 'crashes', int(crashes), 'lost', '1')
      write('HDEL', batch, 'spared')
    end
  elseif not crashes then
    spare(batch)
  end
  orphan(base, name, now, { crashes = crashes })
  write('SREM', base .. 'claims:' .. worker, name)
end

-- Compact jobs that one call frees: a thousand take Redis some 50 ms.
local MOST_COMPACT = 1000

-- Frees a batch of a worker.
local function free_one(base, name, worker, is_dead, now)
  local crashes = is_dead and count_crash(base, name, worker, now) or nil
  in_step(base, (split_name(name)), free_batch, base, name, worker, now, crashes)
end

-- Frees all batches of a worker, each in a step, and then removes its lease. Its quota counts no more, even while a stuck
-- batch keeps its name. Returns the number of freed batches; with MOST_COMPACT or more, another call may free the rest.
local function free_worker(base, worker, is_dead, now)
  write('HDEL', base .. 'ctl', 'quota:' .. worker)
  update_quota(base)
  local has_stuck, freed, raised = compact.expand_all(base, worker, MOST_COMPACT), 0, nil
  local names = redis.call('SMEMBERS', base .. 'claims:' .. worker)
  table.sort(names)
  for _, name in ipairs(names) do
    if not stuck_jobs[split_name(name)] then
      local is_made, reply = try(base, free_one, name, worker, is_dead, now)
      if is_made then freed = freed + 1 else raised = raised_last(raised, reply) end
    end
  end
  if raised then error(raised, 0) end
  -- What is stuck or left stays with the worker, and the next call frees it.
  if has_stuck or freed < #names then return freed end
  in_step(base, '', function()
    if is_dead then add_mark(base, 'lost', worker .. ', ' .. #names .. (#names == 1 and ' batch' or ' batches')) end
    if redis.call('HGET', base .. 'ctl', 'alone') == worker then write('HDEL', base .. 'ctl', 'alone') end
    write('DEL', base .. 'claims:' .. worker)
    write('DEL', base .. 'compact:' .. worker)
    write('SREM', base .. 'holders', worker)
    for _, hash in ipairs({ 'connections', 'links', 'about', 'recorded', 'leases' }) do
      write('HDEL', base .. hash, worker)
    end
  end)
  return #names
end

-- Frees the compact jobs of workers without a lease: an older worker has declared them dead, and does not know these jobs.
function compact.free_lost(base)
  for _, worker in ipairs(redis.call('SMEMBERS', base .. 'holders')) do
    -- A worker that cannot be freed now stops no other.
    if redis.call('HEXISTS', base .. 'leases', worker) == 0 then try(base, free_worker, worker, true, project_ms(base)) end
  end
end

-- declare_dead: frees the batches of a worker whose `counter` stood still, and marks its loss in the history. Returns
-- their number; -1 when it has moved.
function declare_dead(base, args)
  local worker, counter = unpack(args, 1, 2)
  if redis.call('HGET', base .. 'leases', worker) ~= counter then return -1 end
  return free_worker(base, worker, true, project_ms(base))
end

-- deregister: a worker with nothing in flight gives everything back and ends. Returns the number of batches given back.
function deregister(base, args)
  local worker = unpack(args, 1, 1)
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return 0 end
  return free_worker(base, worker, false, project_ms(base))
end

end
