
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
local function crashed(base, name, worker, now)
  local batch = base .. 'b:' .. name
  local crashes = redis.call('HINCRBY', batch, 'crashes', 1)
  local id, n = split_name(name)
  if redis.call('HEXISTS', batch, 'alone') == 1 then
    redis.call('HDEL', batch, 'alone', 'crashes')
    redis.call('DEL', base .. 'crashed:' .. id)
    if redis.call('EXISTS', base .. 'spec:' .. id) == 1 then
      park(base, id, 'poison: batch ' .. n .. ' took its worker down ' .. int(crashes) .. ' times in a row', now,
        { 'batch', n, 'crashes', int(crashes), 'worker', worker })
    end
  end
  orphan(base, name, now)
end

local function free(base, worker, dead, now)
  redis.call('HDEL', base .. 'leases', worker)
  redis.call('HDEL', base .. 'connections', worker)
  redis.call('HDEL', base .. 'links', worker)
  redis.call('HDEL', base .. 'about', worker)
  if redis.call('HGET', base .. 'ctl', 'alone') == worker then redis.call('HDEL', base .. 'ctl', 'alone') end
  local names = redis.call('SMEMBERS', base .. 'claims:' .. worker)
  table.sort(names)
  for _, name in ipairs(names) do
    if dead then
      crashed(base, name, worker, now)
    else
      redis.call('HDEL', base .. 'b:' .. name, 'alone')
      orphan(base, name, now)
    end
  end
  redis.call('DEL', base .. 'claims:' .. worker)
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
    if held[1] == worker and tonumber(held[2] or '0') < call then
      redis.call('HSET', batch, 'epoch', next_epoch(base, now), 'upto', int(math.max(tonumber(held[3]), tonumber(upto))))
      redis.call('SREM', base .. 'claims:' .. worker, name)
      orphan(base, name, now)
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
    if not known[name] then
      local batch = base .. 'b:' .. name
      -- A batch that was taken over may have been sent by the holder before.
      if args[3] == '1' and redis.call('HGET', batch, 'deliveries') == '1' then redis.call('HSET', batch, 'upto', '0') end
      redis.call('SREM', base .. 'claims:' .. worker, name)
      redis.call('HDEL', batch, 'alone')
      orphan(base, name, now)
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
  if held[1] ~= args[1] or held[2] ~= args[3] or redis.call('SREM', base .. 'claims:' .. args[1], args[2]) == 0 then
    return 0
  end
  redis.call('HDEL', batch, 'alone')
  if args[4] ~= '' then redis.call('HSET', batch, 'upto', args[4]) end
  orphan(base, args[2], steady_ms(base))
  return 1
end
