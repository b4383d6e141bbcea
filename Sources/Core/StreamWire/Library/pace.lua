-- Pace of what has a limit beside the quota: recipients that FCM refused for their rate, operations, XMPP connections.

-- pace: asks whether a send to a recipient that FCM refused for its rate may begin now: 240 a minute, evenly, and 5,000
-- an hour. Returns the ms to wait; 0: it may, and is counted. `recipient`: "<kind>:<recipient>".
local function pace(base, args)
  local recipient, worker_clock = unpack(args, 1, 2)
  local now = project_ms(base, tonumber(worker_clock))
  local value = redis.call('HGET', base .. 'rates', recipient) or '0|0|0|0'
  local held, next_at, since, count = string.match(value, '^(%d+)|(%d+)|(%d+)|(%d+)$')
  held, next_at, since, count = tonumber(held), tonumber(next_at), tonumber(since), tonumber(count)
  if now >= since + HOUR then since, count = now, 0 end
  local wait = math.max(held, next_at) - now
  if count >= 5000 then wait = math.max(wait, since + HOUR - now) end
  if wait > 0 then return int(wait) end
  redis.call('HSET', base .. 'rates', recipient,
    int(held) .. '|' .. int(now + 250) .. '|' .. int(since) .. '|' .. int(count + 1))
  redis.call('ZADD', base .. 'rated', 'NX', int(now), recipient)
  return '0'
end

-- Spaces operations evenly. `field`: of `ctl`, when the next may begin. Returns the ms to wait; 0: it may, and the next
-- one `spacing` ms later.
local function wait_for_turn(base, field, spacing)
  local now, at = wall_ms(), tonumber(redis.call('HGET', base .. 'ctl', field) or '0')
  -- More than a second ahead: the clock was set back.
  if at > now and at <= now + 1000 then return at - now end
  redis.call('HSET', base .. 'ctl', field, int(math.ceil(now + spacing)))
  return 0
end

-- manage: asks whether `count` subscriptions or group operations may begin now. FCM accepts 3,000 a second; 2,400 leave
-- room for a request that arrives late. Returns the ms to wait; 0: they may, and are counted.
local function manage(base, args)
  local count = unpack(args, 1, 1)
  return int(wait_for_turn(base, 'managed_at', tonumber(count) / 2.4))
end

-- connect: reports a worker's XMPP connections, and asks for one more (`wants_more` 1): FCM accepts 2,500 of a project,
-- and 400 new ones a minute. Returns the ms to wait; 0: it may. A worker that was declared dead is not counted.
local function connect(base, args)
  local worker, open, wants_more = unpack(args, 1, 3)
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return '1000' end
  open = tonumber(open)
  redis.call('HSET', base .. 'connections', worker, int(open))
  if wants_more ~= '1' then return '0' end
  local all = 0
  for _, count in ipairs(redis.call('HVALS', base .. 'connections')) do all = all + tonumber(count) end
  if all >= 2500 then return '1000' end
  local wait = wait_for_turn(base, 'connect_at', 160)
  if wait == 0 then redis.call('HSET', base .. 'connections', worker, int(open + 1)) end
  return int(wait)
end

-- Holds every send to a recipient that FCM refused for its rate, in any job and any worker.
local function hold_recipient(base, recipient, until_ms, now)
  local value = redis.call('HGET', base .. 'rates', recipient) or '0|0|0|0'
  local held, rest = string.match(value, '^(%d+)(|.*)$')
  redis.call('HSET', base .. 'rates', recipient, int(math.max(tonumber(held), until_ms)) .. rest)
  redis.call('ZADD', base .. 'rated', int(now), recipient)
  local id = redis.call('XADD', base .. 'refused', 'MAXLEN', '~', '20000', '*', 'name', recipient,
    'value', int(until_ms))
  redis.call('HSET', base .. 'ctl', 'refused', id)
  redis.call('XTRIM', base .. 'refused', 'MINID', '~', int(wall_ms() - HOUR))
  local old = redis.call('ZRANGEBYSCORE', base .. 'rated', '-inf', int(now - HOUR), 'LIMIT', 0, 20)
  for _, name in ipairs(old) do
    redis.call('HDEL', base .. 'rates', name)
    redis.call('ZREM', base .. 'rated', name)
  end
end

-- Holds every send of the project at once: FCM refused its quota.
local function hold_project(base, ms, now)
  local control = read_control(base)
  if (tonumber(control.hold_until) or 0) <= now then mark_hold(base, ms) end
  local held = hold_sends(control, now + ms)
  write_control(base, control)
  return held
end

-- hold: every send of the project waits. Returns the time until which.
local function hold(base, args)
  local ms = unpack(args, 1, 1)
  return int(hold_project(base, tonumber(ms), project_ms(base)))
end
