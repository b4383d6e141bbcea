
-- ---------------------------------------------------------------------------------------------------------------
-- register: a worker announces itself, or comes back after it was declared dead under a new name.
-- ARGV: worker. Returns {now_ms, the last of the news}: what was said before does not concern it.
local function register(keys, args)
  redis.call('HINCRBY', keys[1] .. 'leases', args[1], 1)
  return { int(now_ms()), redis.call('HGET', keys[1] .. 'ctl', 'said') or '0' }
end

-- renew: keeps a worker's lease, and shows the others' counters, by which it judges them on its own clock.
-- ARGV: worker, what it says of itself (may be left out). Returns {'ok', now_ms, worker, counter, worker, counter, ...} or
-- {'fenced'}: declared dead meanwhile.
local function renew(keys, args)
  local leases, wall = keys[1] .. 'leases', int(now_ms())
  if redis.call('HEXISTS', leases, args[1]) == 0 then return { 'fenced' } end
  redis.call('HINCRBY', leases, args[1], 1)
  if args[2] then redis.call('HSET', keys[1] .. 'about', args[1], wall .. '|' .. args[2]) end
  local reply = { 'ok', wall }
  for _, value in ipairs(redis.call('HGETALL', leases)) do reply[#reply + 1] = value end
  return reply
end

-- Poison: a batch that took its worker down three times in a row, with no new result in between, is a suspect: it is
-- run alone, and if it does it again, its job needs a person. What of it becomes a retry takes the count along.
-- Returns the count that the batch has now.
local function crashed(base, name, worker, now)
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

-- Frees all batches of a worker, one step for each, and then removes its lease. If an error stops it, the lease is
-- still there, and the next call frees the rest. Returns the number of batches.
local function free(base, worker, dead, now)
  local names = redis.call('SMEMBERS', base .. 'claims:' .. worker)
  table.sort(names)
  local waits = false
  for _, name in ipairs(names) do if stuck_jobs[split_name(name)] then waits = true else
    local crashes = dead and crashed(base, name, worker, now) or nil
    in_step(base, (split_name(name)), free_batch, base, name, worker, now, crashes)
  end end
  -- What is stuck stays with the worker's name, and the next call frees it.
  if waits then return #names end
  in_step(base, '', function()
    write('HDEL', base .. 'connections', worker)
    write('HDEL', base .. 'links', worker)
    write('HDEL', base .. 'about', worker)
    if redis.call('HGET', base .. 'ctl', 'alone') == worker then write('HDEL', base .. 'ctl', 'alone') end
    write('DEL', base .. 'claims:' .. worker)
    write('HDEL', base .. 'leases', worker)
  end)
  return #names
end

-- bury: declares a worker dead whose counter did not move for a whole lease, and frees its batches.
-- ARGV: worker, the counter that was seen. Returns the number of batches freed, or -1 when the counter has moved.
local function bury(keys, args)
  if redis.call('HGET', keys[1] .. 'leases', args[1]) ~= args[2] then return -1 end
  return free(keys[1], args[1], true, steady_ms(keys[1]))
end

-- leave: a worker that has nothing on the wire any more gives everything back and goes.
-- ARGV: worker. Returns the number of batches given back.
local function leave(keys, args)
  if redis.call('HEXISTS', keys[1] .. 'leases', args[1]) == 0 then return 0 end
  return free(keys[1], args[1], false, steady_ms(keys[1]))
end

-- Takes a batch from a living worker. Part of a step. `upto`: its new watermark; nil keeps the old one; `is_known`: the
-- worker has it and may have sent some of it.
local function take_back(base, name, worker, now, upto, is_known)
  local batch = base .. 'b:' .. name
  if upto then write('HSET', batch, 'upto', upto) end
  if not is_known then write('HDEL', batch, 'alone') end
  orphan(base, name, now, { upto = upto })
  write('SREM', base .. 'claims:' .. worker, name)
end

-- reconcile: a connection is new, and with the old one perhaps the answer to a claim or an intake was lost. What is held
-- in the worker's name and unknown to it was certainly not sent by it, and goes back.
-- Redis may also have come back with an older state. A batch that stands before the last call that was confirmed, or is
-- not there at all, has gone back in time: what the worker decided since is forgotten, so it is taken from it, with the
-- watermark that the worker knows; its facts come in as late ones.
-- ARGV: worker, number of its connection, 1 when Redis has lost nothing, then of each batch that the worker knows: name,
--   number of the last call that was confirmed, watermark.
-- Returns {number of batches given back, name of a batch that was taken, ...}, or the error OLDLINK.
local function reconcile(keys, args)
  local base, worker, known, freed = keys[1], args[1], {}, 0
  if not is_current(base, worker, args[2]) then return old_link() end
  local now, reply = steady_ms(base), {}
  for i = 4, #args, 3 do
    local name, call, upto = args[i], tonumber(args[i + 1]), args[i + 2]
    local batch = base .. 'b:' .. name
    local held = redis.call('HMGET', batch, 'owner', 'call', 'upto')
    known[name] = true
    if stuck_jobs[split_name(name)] then
      -- Asked again later.
    elseif held[1] == worker and tonumber(held[2] or '0') < call then
      in_step(base, (split_name(name)), take_back, base, name, worker, now,
        int(math.max(tonumber(held[3]), tonumber(upto))), true)
      reply[#reply + 1] = name
    elseif not held[1] then
      local id, n = split_name(name)
      local next_from = tonumber(redis.call('HGET', base .. 'spec:' .. id, 'next'))
      if next_from and tonumber(n) and tonumber(n) * BATCH >= next_from then
        -- Not claimed yet, as far as Redis remembers. Whoever claims it has to hear how far its sends had come.
        redis.call('HSET', base .. 'rolled:' .. id, n, upto)
        reply[#reply + 1] = name
      elseif next_from and not tonumber(n) then
        reply[#reply + 1] = name
      end
      -- Else it was finished, and only the answer was lost.
    end
  end
  local names = redis.call('SMEMBERS', base .. 'claims:' .. worker)
  table.sort(names)
  for _, name in ipairs(names) do
    if not known[name] and not stuck_jobs[split_name(name)] then
      local batch = base .. 'b:' .. name
      -- A batch that was taken over may have been sent by the holder before.
      local is_unsent = args[3] == '1' and redis.call('HGET', batch, 'deliveries') == '1'
      in_step(base, (split_name(name)), take_back, base, name, worker, now, is_unsent and '0' or nil)
      freed = freed + 1
    end
  end
  table.insert(reply, 1, int(freed))
  return reply
end

-- release: a worker gives one batch back of which nothing is on the wire; its job was paused or parked.
-- ARGV: worker, batch name, epoch, watermark ('' = as it is). Returns 1, or 0 when it was not the holder.
local function release(keys, args)
  local base = keys[1]
  local batch = base .. 'b:' .. args[2]
  local held = redis.call('HMGET', batch, 'owner', 'epoch')
  if held[1] ~= args[1] or held[2] ~= args[3]
    or redis.call('SISMEMBER', base .. 'claims:' .. args[1], args[2]) == 0 then
    return 0
  end
  in_step(base, (split_name(args[2])), take_back, base, args[2], args[1], steady_ms(base),
    args[4] ~= '' and args[4] or nil)
  return 1
end
