-- Batches of a living worker that go back.

local reconcile, release
do

-- Takes a batch from a living worker. Part of a step. `watermark`: nil keeps it; `is_known`: the worker has the batch.
local function take_back(base, name, worker, now, watermark, is_known)
  local batch = base .. 'b:' .. name
  if watermark then write('HSET', batch, 'upto', watermark) end
  if not is_known then spare(batch) end
  orphan(base, name, now, { watermark = watermark })
  write('SREM', base .. 'claims:' .. worker, name)
end

-- Whether Redis came back with an older state of a batch, before the last confirmed `call` or without the batch. Then
-- it is taken from the worker, with the watermark that the worker knows.
local function is_forgotten(base, worker, name, call, watermark, now)
  local id, n = split_name(name)
  local owner, known_call, known_watermark = unpack(redis.call('HMGET', base .. 'b:' .. name, 'owner', 'call', 'upto'))
  -- Asked again later.
  if stuck_jobs[id] then return false end
  if owner == worker and tonumber(known_call or '0') < call then
    local latest = int(math.max(tonumber(known_watermark), tonumber(watermark)))
    in_step(base, id, take_back, base, name, worker, now, latest, true)
    return true
  end
  if owner then return false end
  local next_from = tonumber(redis.call('HGET', base .. 'spec:' .. id, 'next'))
  -- Without a spec the job is over; before `next` the batch was closed. Only the answer was lost.
  if not next_from or (tonumber(n) and tonumber(n) * BATCH < next_from) then return false end
  -- The worker that claims it again must learn how far its sends had come.
  if tonumber(n) then redis.call('HSET', base .. 'rolled:' .. id, n, watermark) end
  return true
end

-- Gives back a batch that the worker does not know; only an earlier holder may have sent.
local function free_unknown(base, name, worker, is_same_server, now)
  local is_unsent = is_same_server and redis.call('HGET', base .. 'b:' .. name, 'deliveries') == '1'
  in_step(base, (split_name(name)), take_back, base, name, worker, now, is_unsent and '0' or nil)
end

-- The same for all of them; one that is broken stops no other. Returns their number, and what is to be raised.
local function free_all_unknown(base, worker, known, is_same_server, now)
  local names, freed, raised = redis.call('SMEMBERS', base .. 'claims:' .. worker), 0, nil
  table.sort(names)
  for _, name in ipairs(names) do
    if not known[name] and not stuck_jobs[split_name(name)] then
      local is_made, reply = try(base, free_unknown, name, worker, is_same_server, now)
      if is_made then freed = freed + 1 else raised = raised_last(raised, reply) end
    end
  end
  return freed, raised
end

-- reconcile: compares what a worker holds with what Redis has in its name, on each new connection: a reply may be lost,
-- or Redis came back with an older state. `is_same_server`: 1 when Redis has lost nothing; then of each batch that the
-- worker holds: name, number of the last confirmed call, watermark. Returns 'ok', `freed`: the number of batches given
-- back, and `lost`: names of batches that the worker holds no longer; or the error OLDLINK.
function reconcile(base, args)
  local worker, connection, is_same_server = unpack(args, 1, 3)
  if not is_current(base, worker, connection) then return old_link() end
  local now, known, lost, raised = project_ms(base), {}, {}, nil
  for at = 4, #args, 3 do
    local name, call, watermark = unpack(args, at, at + 2)
    known[name] = true
    local is_made, is_lost = try(base, is_forgotten, worker, name, tonumber(call), watermark, now)
    if not is_made then raised = raised_last(raised, is_lost) elseif is_lost then lost[#lost + 1] = name end
  end
  compact.expand_all(base, worker, math.huge, known)
  local freed, raised_by_unknown = free_all_unknown(base, worker, known, is_same_server == '1', now)
  raised = raised or raised_by_unknown
  if raised then error(raised, 0) end
  return { 'outcome', 'ok', 'freed', freed, 'lost', lost }
end

-- release: gives back a batch without requests in flight. `watermark`: '' keeps it. Returns 1; 0 when not the holder.
function release(base, args)
  local worker, batch, epoch, watermark = unpack(args, 1, 4)
  compact.expand(base, (split_name(batch)))
  local owner, known_epoch = unpack(redis.call('HMGET', base .. 'b:' .. batch, 'owner', 'epoch'))
  if owner ~= worker or known_epoch ~= epoch
    or redis.call('SISMEMBER', base .. 'claims:' .. worker, batch) == 0 then
    return 0
  end
  local now = project_ms(base)
  in_step(base, (split_name(batch)), take_back, base, batch, worker, now, watermark ~= '' and watermark or nil)
  return 1
end

end
