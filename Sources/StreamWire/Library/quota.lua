
-- ---------------------------------------------------------------------------------------------------------------
-- The quota governor: permits for sends, lent to workers in blocks. FCM counts in windows of 60 s that are not aligned
-- with ours, so what matters is that no 60 s see more than the quota: permits come evenly, at 98.5 % of it, and the
-- bucket (a quarter of a second) plus what is lent (good for a quarter of a second) stays within the rest.
-- From idle the rate climbs over 60 s, while it is really used: it climbs while the bucket is being drained, and falls
-- by the same slope while the bucket stands full.

local function refill(ctl, quota, now)
  local full = 0.985 * quota / 60
  local floor = math.min(full, math.max(full / 50, 10))
  local slope = (full - floor) / 60
  local level = math.min(full, math.max(floor, tonumber(ctl.level) or floor))
  local at = tonumber(ctl.at)
  local have = tonumber(ctl.have) or math.max(1, level / 4)
  local hold_until = tonumber(ctl.hold_until) or 0
  if hold_until > now then
    -- Held: nothing is lent, and afterwards the rate climbs again from its floor.
    return { level = floor, have = 0, cap = 0, at = hold_until }
  end
  local cap = math.max(1, level / 4)
  if at and now > at then
    local passed = math.min(now - at, 600000) / 1000
    local filling = math.min(passed, math.max(0, cap - have) / level)
    have = have + level * filling
    level = math.min(full, math.max(floor, level + slope * (2 * filling - passed)))
    cap = math.max(1, level / 4)
  elseif at and at > now + 1000 then
    -- The clock was set back: start over from what is there.
    at = now
  end
  return { level = level, have = math.min(have, cap), cap = cap, at = math.max(at or now, now) }
end

local function save(ctl, bucket)
  change(ctl, 'level', bucket.level)
  change(ctl, 'have', bucket.have)
  change(ctl, 'at', int(bucket.at))
end

-- Lends permits: to single recipients whatever there is, to fan-outs at most half of it, so that the other workers
-- find something too, and never the last tenth of the bucket, which is for single recipients.
-- `ctl`: what the caller has read, and will keep.
local function lend(base, ctl, quota, now, returned, single, fanout)
  local bucket = refill(ctl, quota, now)
  if bucket.cap == 0 then
    save(ctl, bucket)
    return 0
  end
  bucket.have = math.min(bucket.cap, bucket.have + returned)
  local lent = math.min(single, math.floor(bucket.have))
  bucket.have = bucket.have - lent
  -- Single recipients that found nothing come again in a moment; what comes in until then is theirs.
  local missing = single - lent
  local debt = (tonumber(ctl.owed_until) or 0) > now and math.max(0, tonumber(ctl.owed) - lent) or 0
  debt = math.max(debt, missing)
  if missing > 0 then
    -- Only who asks in vain prolongs it: renewed by every call it would never end, and fan-outs never begin.
    change(ctl, 'owed', int(debt))
    change(ctl, 'owed_until', int(now + 150))
  elseif debt > 0 then
    change(ctl, 'owed', int(debt))
  elseif ctl.owed then
    redis.call('HDEL', base .. 'ctl', 'owed', 'owed_until')
    ctl.owed, ctl.owed_until, ctl.changes.owed, ctl.changes.owed_until = nil, nil, nil, nil
  end
  local reserve = math.max(debt, bucket.cap >= 20 and bucket.cap / 10 or 0)
  local spare = math.floor(bucket.have - reserve)
  if fanout > 0 and spare > 0 then
    local more = math.min(fanout, spare, math.max(math.ceil(bucket.have / 2), math.min(spare, 10)))
    bucket.have = bucket.have - more
    lent = lent + more
  end
  save(ctl, bucket)
  return lent
end

-- pace: may a send to a recipient that FCM refused for its rate begin now? 240 a minute, evenly, and 5,000 an hour.
-- ARGV: "<kind>:<recipient>", what the worker takes the time for. Returns the ms to wait; 0: it may, and has been counted.
local function pace(keys, args)
  local base, now = keys[1], steady_ms(keys[1], tonumber(args[2]))
  local value = redis.call('HGET', base .. 'rates', args[1]) or '0|0|0|0'
  local held, next_at, since, count = string.match(value, '^(%d+)|(%d+)|(%d+)|(%d+)$')
  held, next_at, since, count = tonumber(held), tonumber(next_at), tonumber(since), tonumber(count)
  if now >= since + HOUR then since, count = now, 0 end
  local wait = math.max(held, next_at) - now
  if count >= 5000 then wait = math.max(wait, since + HOUR - now) end
  if wait > 0 then return int(wait) end
  redis.call('HSET', base .. 'rates', args[1],
    int(held) .. '|' .. int(now + 250) .. '|' .. int(since) .. '|' .. int(count + 1))
  redis.call('ZADD', base .. 'rated', 'NX', int(now), args[1])
  return '0'
end

-- manage: may so many subscriptions or group operations begin now? FCM takes 3,000 a second of a project. They are spaced
-- by their number at 2,400 a second, so that no second sees more, however its window lies, even where one request comes a
-- quarter of a second later than it was let go: the first of them has a connection to make.
-- ARGV: number. Returns the ms to wait; 0: they may, and have been counted.
local function manage(keys, args)
  local base, now = keys[1], now_ms()
  local at = tonumber(redis.call('HGET', base .. 'ctl', 'managed_at') or '0')
  -- Further ahead than any number reaches: the clock was set back.
  if at > now and at <= now + 1000 then return int(math.ceil(at - now)) end
  redis.call('HSET', base .. 'ctl', 'managed_at', int(math.ceil(now + tonumber(args[1]) / 2.4)))
  return '0'
end

-- connect: a worker tells how many XMPP connections it has, and may ask for one more. FCM takes 2,500 of a project, and
-- 400 new ones a minute; they are let in 160 ms apart.
-- ARGV: worker, connections open or being opened, 1 to ask for one more. Returns the ms to wait; 0: it may. A worker that
-- was declared dead waits and is not counted: nobody would ever take its number away again.
local function connect(keys, args)
  local base, now = keys[1], now_ms()
  if redis.call('HEXISTS', base .. 'leases', args[1]) == 0 then return '1000' end
  local open = tonumber(args[2])
  redis.call('HSET', base .. 'connections', args[1], int(open))
  if args[3] ~= '1' then return '0' end
  local all = 0
  for _, count in ipairs(redis.call('HVALS', base .. 'connections')) do all = all + tonumber(count) end
  if all >= 2500 then return '1000' end
  local at = tonumber(redis.call('HGET', base .. 'ctl', 'connect_at') or '0')
  if at > now and at <= now + 1000 then return int(at - now) end
  redis.call('HSET', base .. 'ctl', 'connect_at', int(now + 160))
  redis.call('HSET', base .. 'connections', args[1], int(open + 1))
  return '0'
end

-- FCM refused a recipient for its rate: every send to it waits, in any job and any worker.
local function hold_recipient(base, name, until_ms, now)
  local value = redis.call('HGET', base .. 'rates', name) or '0|0|0|0'
  local held, rest = string.match(value, '^(%d+)(|.*)$')
  redis.call('HSET', base .. 'rates', name, int(math.max(tonumber(held), until_ms)) .. rest)
  redis.call('ZADD', base .. 'rated', int(now), name)
  local id = redis.call('XADD', base .. 'refused', 'MAXLEN', '~', '20000', '*', 'name', name, 'value', int(until_ms))
  redis.call('HSET', base .. 'ctl', 'refused', id)
  redis.call('XTRIM', base .. 'refused', 'MINID', '~', int(now_ms() - HOUR))
  local old = redis.call('ZRANGEBYSCORE', base .. 'rated', '-inf', int(now - HOUR), 'LIMIT', 0, 20)
  for _, name_ in ipairs(old) do
    redis.call('HDEL', base .. 'rates', name_)
    redis.call('ZREM', base .. 'rated', name_)
  end
end

-- Holds every send of the project.
local function hold_project(base, ms, now)
  local held = tonumber(redis.call('HGET', base .. 'ctl', 'hold_until') or '0')
  held = math.max(held, now + ms)
  redis.call('HSET', base .. 'ctl', 'hold_until', int(held), 'level', '0', 'have', '0', 'at', int(held))
  return held
end

-- hold: every send of the project waits. ARGV: ms. Returns the time until which.
local function hold(keys, args)
  return int(hold_project(keys[1], tonumber(args[1]), steady_ms(keys[1])))
end
