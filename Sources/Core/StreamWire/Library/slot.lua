-- The slot: one active fan-out in a project, because FCM shares a project's fan-out capacity among them.

local fill_slot, hold_slot_for_send, hold_slot
do

-- Puts the fan-out that holds the slot back into the queue. Its claimed batches are finished.
local function preempt(base, id)
  local spec = load_spec(base, id)
  if spec and has_first_pass(base, id, spec) then enqueue(base, spec) end
  if spec and redis.call('HGET', base .. 'job:' .. id, 'state') == 'active' then
    write('HSET', base .. 'job:' .. id, 'state', 'waiting')
  end
  write('HDEL', base .. 'active', id)
end

-- Whether no fan-out may start now: within two minutes of a quarter of an hour FCM is busiest, and in the minute after
-- it each project waits for a moment of its own.
local function is_smeared(base)
  local quarter = wall_ms() % 900000
  if quarter >= 780000 then return true end
  local spread = tonumber(string.sub(redis.sha1hex(base), 1, 6), 16) % 60000
  return quarter < 120000 + spread
end

-- Frees the slots of fan-outs that FCM has finished or that need no slot any more. Returns how many are taken.
local function free_slots(base, active, now)
  local count = 0
  for i = 1, #active, 2 do
    local ends = string.match(active[i + 1], '|(%d+)$')
    local passed, total, class = unpack(redis.call('HMGET', base .. 'spec:' .. active[i], 'passed', 'total', 'class'))
    local is_over = class == 'fanout' and (tonumber(passed) or 0) * BATCH >= tonumber(total)
    if is_over or (ends and tonumber(ends) <= now) then
      write('HDEL', base .. 'active', active[i])
    else
      count = count + 1
    end
  end
  return count
end

-- A fan-out that `spec` may preempt; nil when there is none. A job of priority 9 preempts one of a lower priority, and in a
-- blocked project one that FCM has not refused preempts one that it has. A broadcast inside FCM cannot be called back.
local function choose_victim(base, active, spec, is_blocked)
  local victim
  for i = 1, #active, 2 do
    local id = active[i]
    local other = load_spec(base, id)
    local gives_way = other and (spec.priority >= 9 and other.priority < 9
      or is_blocked and refusals.has_refused(base, id))
    if gives_way and string.sub(active[i + 1], -1) == '|' and redis.call('HEXISTS', base .. 'active', id) == 1
      and not stuck_jobs[id] then victim = id end
  end
  return victim
end

-- Takes the slot from fan-outs that wait for their rate or their window while others wait for the slot.
local function yield_slots(base, now)
  for _, id in ipairs(redis.call('HKEYS', base .. 'active')) do
    if not stuck_jobs[id] and redis.call('HEXISTS', base .. 'spec:' .. id, 'guarded') == 1 then
      local spec = load_spec(base, id)
      if spec and not spec.paused and not spec.parked then defer_waiting(base, id, spec, now, true) end
    end
  end
end

-- Gives the slots to the first fan-outs of the queue. `limit`: how many slots there are; `smear`: see is_smeared;
-- `is_blocked`: the project is.
function fill_slot(base, now, limit, smear, is_blocked)
  yield_slots(base, now)
  local active, skipped = redis.call('HGETALL', base .. 'active'), 0
  local count = free_slots(base, active, now)
  for _ = 1, 100 do
    local head = unpack(redis.call('ZRANGE', base .. 'queue', skipped, skipped))
    if not head then return end
    local id = job_of_member(head)
    local spec = load_spec(base, id)
    if stuck_jobs[id] or is_blocked and count >= limit and refusals.has_refused(base, id) then
      skipped = skipped + 1
    elseif not spec or spec.paused or spec.parked or spec.ending or not has_first_pass(base, id, spec) then
      write('ZREM', base .. 'queue', head)
    elseif not defer_waiting(base, id, spec, now, false) then
      if smear and is_smeared(base) then return end
      if count >= limit then
        local victim = (spec.priority >= 9 or is_blocked) and choose_victim(base, active, spec, is_blocked)
        if not victim then return end
        in_step(base, victim, preempt, base, victim)
        count = count - 1
      end
      -- If an error stops this between the two writes, the job is in both and is found again.
      write('HSET', base .. 'active', id, next_epoch(base, now) .. '|')
      write('ZREM', base .. 'queue', head)
      count = count + 1
    end
  end
end

-- Keeps the slot while a broadcast is in flight: until its answer is recorded, no other fan-out gets it.
function hold_slot_for_send(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value then write('HSET', base .. 'active', id, string.match(value, '^[^|]*') .. '|?') end
end

-- Keeps the slot after a broadcast for the time that FCM is estimated to need; frees it when that is 0.
function hold_slot(base, id, hold_ms, now)
  local value = redis.call('HGET', base .. 'active', id)
  if not value then return end
  if hold_ms <= 0 then
    redis.call('HDEL', base .. 'active', id)
  else
    redis.call('HSET', base .. 'active', id, string.match(value, '^[^|]*') .. '|' .. int(now + hold_ms))
  end
end

end
