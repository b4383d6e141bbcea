
-- ---------------------------------------------------------------------------------------------------------------
-- Leases: a worker lives as long as its counter grows.

local register, renew, declare_dead, deregister
do

-- register: a worker announces itself, or comes back under a new name after it was declared dead.
-- Returns 'ok', and `news_cursor`, the last of the news: earlier news does not concern the worker.
function register(base, args)
  local worker = unpack(args, 1, 1)
  redis.call('HINCRBY', base .. 'leases', worker, 1)
  return { 'outcome', 'ok', 'news_cursor', redis.call('HGET', base .. 'ctl', 'said') or '0' }
end

-- renew: keeps a worker's lease, and shows all workers' counters, by which it judges them on its own clock.
-- `about`: what the worker reports of itself; may be left out. Returns 'fenced' if the worker was declared dead
-- meanwhile, or 'ok' and `counters`, each worker with its counter.
function renew(base, args)
  local worker, about = unpack(args, 1, 2)
  local leases = base .. 'leases'
  if redis.call('HEXISTS', leases, worker) == 0 then return 'fenced' end
  redis.call('HINCRBY', leases, worker, 1)
  if about then redis.call('HSET', base .. 'about', worker, int(wall_ms()) .. '|' .. about) end
  return { 'outcome', 'ok', 'counters', redis.call('HGETALL', leases) }
end

-- Counts a batch whose worker died. After CRASHES_TO_QUARANTINE in a row, with no new result in between, the batch is
-- quarantined: it is run while its worker holds nothing else. If that worker dies, too, its job is parked as poison. A
-- recipient that becomes a retry takes the count along. Returns the batch's new count.
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

-- Takes a batch from a worker that is dead or leaves. Part of a step. `crashes`: its new count; nil keeps the old one.
local function free_batch(base, name, worker, now, crashes)
  local batch = base .. 'b:' .. name
  if crashes and crashes > 0 then
    if redis.call('EXISTS', batch) == 1 then write('HSET', batch, 'crashes', int(crashes)) end
  elseif not crashes then
    write('HDEL', batch, 'alone')
  end
  orphan(base, name, now, { crashes = crashes })
  write('SREM', base .. 'claims:' .. worker, name)
end

-- Removes what Redis keeps of a worker, its lease last. Part of a step.
local function forget_worker(base, worker)
  write('HDEL', base .. 'connections', worker)
  write('HDEL', base .. 'links', worker)
  write('HDEL', base .. 'about', worker)
  if redis.call('HGET', base .. 'ctl', 'alone') == worker then write('HDEL', base .. 'ctl', 'alone') end
  write('DEL', base .. 'claims:' .. worker)
  write('HDEL', base .. 'leases', worker)
end

-- Frees all batches of a worker, one step for each, and then removes its lease. If an error stops it, the lease is
-- still there, and the next call frees the rest. Returns the number of batches.
local function free_worker(base, worker, is_dead, now)
  local names, has_stuck = redis.call('SMEMBERS', base .. 'claims:' .. worker), false
  table.sort(names)
  for _, name in ipairs(names) do
    local id = split_name(name)
    if stuck_jobs[id] then
      has_stuck = true
    else
      local crashes = is_dead and count_crash(base, name, worker, now) or nil
      in_step(base, id, free_batch, base, name, worker, now, crashes)
    end
  end
  -- A batch that is stuck stays with the worker, and the next call frees it.
  if not has_stuck then in_step(base, '', forget_worker, base, worker) end
  return #names
end

-- declare_dead: frees the batches of a worker whose counter did not move for a whole lease.
-- `counter`: the one that was seen. Returns the number of batches freed, or -1 when the counter has moved.
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
