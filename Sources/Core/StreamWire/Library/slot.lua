
-- ---------------------------------------------------------------------------------------------------------------
-- The slot: one active fan-out in a project, because FCM shares a project's fan-out capacity among them. Which one is
-- a decision of whoever comes by; it is atomic, and each turn has an epoch of its own.

-- Puts the fan-out that holds the slot back into the queue, where it was. Its claimed batches are finished.
local function preempt(base, id)
  local spec = load_spec(base, id)
  if spec and has_first_pass(base, id, spec) then enqueue(base, spec) end
  if spec and redis.call('HGET', base .. 'job:' .. id, 'state') == 'active' then
    write('HSET', base .. 'job:' .. id, 'state', 'waiting')
  end
  write('HDEL', base .. 'active', id)
end

-- Two minutes on either side of a quarter of an hour FCM is busiest: with `smear` no fan-out starts then, and each
-- project has a moment of its own within the minute after.
local function is_smeared(base)
  local quarter = now_ms() % 900000
  if quarter >= 780000 then return true end
  local spread = tonumber(string.sub(redis.sha1hex(base), 1, 6), 16) % 60000
  return quarter < 120000 + spread
end

-- Frees the slot of a fan-out whose time inside FCM is over, preempts for a 9, and fills what is free.
local function fill_slot(base, now, limit, smear)
  local active = redis.call('HGETALL', base .. 'active')
  local count = 0
  for i = 1, #active, 2 do
    local ends = string.match(active[i + 1], '|(%d+)$')
    local passed = redis.call('HMGET', base .. 'spec:' .. active[i], 'passed', 'total', 'class')
    -- A first pass that is over keeps no slot, whatever else is left of the job.
    local over = passed[3] == 'fanout' and (tonumber(passed[1]) or 0) * BATCH >= tonumber(passed[2])
    if over or (ends and tonumber(ends) <= now) then
      write('HDEL', base .. 'active', active[i])
    else
      count = count + 1
    end
  end
  local skipped = 0
  for _ = 1, 100 do
    local head = redis.call('ZRANGE', base .. 'queue', skipped, skipped)[1]
    if not head then return end
    local _, id = string.match(head, '^([^/]*)/(.*)$')
    local spec = load_spec(base, id)
    if stuck_jobs[id] then
      skipped = skipped + 1
    elseif not spec or spec.paused or spec.parked or spec.ending or not has_first_pass(base, id, spec) then
      write('ZREM', base .. 'queue', head)
    else
      if smear and is_smeared(base) then return end
      if count >= limit then
        if spec.priority < 9 then return end
        local victim
        for i = 1, #active, 2 do
          local other = load_spec(base, active[i])
          -- One that runs inside FCM cannot be called back.
          if string.sub(active[i + 1], -1) == '|' and redis.call('HEXISTS', base .. 'active', active[i]) == 1
            and other and other.priority < 9 and not stuck_jobs[active[i]] then victim = active[i] end
        end
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

-- A topic's or condition's send goes out: until it is known what became of it, nobody else has a turn.
local function hold_slot_for_send(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value then write('HSET', base .. 'active', id, string.match(value, '^[^|]*') .. '|?') end
end

-- A topic or condition was sent to, or may have been: FCM is busy with it for as long as it is estimated to take.
local function hold_slot(base, id, hold_ms, now)
  local value = redis.call('HGET', base .. 'active', id)
  if not value then return end
  if hold_ms <= 0 then
    redis.call('HDEL', base .. 'active', id)
  else
    redis.call('HSET', base .. 'active', id, string.match(value, '^[^|]*') .. '|' .. int(now + hold_ms))
  end
end
