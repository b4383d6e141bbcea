
-- ---------------------------------------------------------------------------------------------------------------
-- The quota governor: permits for sends, lent to workers in blocks. FCM counts in windows of 60 s that are not aligned
-- with ours, so what matters is that no 60 s see more than the quota: permits come evenly, at 98.5 % of it, and the
-- bucket (a quarter of a second) plus what is lent (good for a quarter of a second) stays within the rest.
-- From idle the rate climbs over 60 s, while it is really used: it climbs while the bucket is being drained, and falls
-- by the same slope while the bucket stands full.
-- The rate climbs only while FCM answers, and after a hold only once it has answered well: see "The share rule".
--
-- A legacy multicast is sent as a whole: the fan-out share may go into debt for it. While it has debt, the permits that
-- come in go first to single recipients (`reserve`), then to the debt, then to the bucket.

-- Requests a second of a project that recovers from a hold.
local RECOVERY_RATE = 10
-- FCM counts as answering if a worker reported an answer within this time, in ms.
local ANSWERS_WITHIN = 2000
-- How long a refusal counts, in ms.
local REFUSAL_COUNTS = 60000

local function refill(ctl, quota, now)
  local full = 0.985 * quota / 60
  local floor = math.min(full, math.max(full / 50, 10))
  local slope = (full - floor) / 60
  local level = math.min(full, math.max(floor, tonumber(ctl.level) or floor))
  local hold_until, debt = tonumber(ctl.hold_until) or 0, tonumber(ctl.debt) or 0
  if hold_until > now then
    return { level = level, have = 0, cap = 0, reserve = 0, debt = debt, at = hold_until }
  end
  local recovers = ctl.recovering == '1'
  local share = now < (tonumber(ctl.refused_at) or 0) + REFUSAL_COUNTS and tonumber(ctl.share) or 0
  local function pace() return recovers and math.min(full, RECOVERY_RATE) or level * (1 - share) end
  local rate = pace()
  local cap = math.max(1, rate / 4)
  local at, have = tonumber(ctl.at), tonumber(ctl.have) or cap
  if at and now > at then
    local passed = math.min(now - at, 600000) / 1000
    local filling = math.min(passed, math.max(0, cap - have + (recovers and 0 or debt)) / rate)
    local income = rate * filling
    if recovers then
      -- A recovery lends by requests; their recipients' debt is paid at half the level, the pace after the recovery.
      debt = math.max(0, debt - level / 2 * passed)
    else
      local paid = math.min(debt, math.max(0, income - math.max(0, math.max(1, cap / 10) - have)))
      debt, income = debt - paid, income - paid
    end
    have = have + income
    local answers = now <= (tonumber(ctl.answered_at) or 0) + ANSWERS_WITHIN
    local gain = recovers and filling or answers and 2 * filling or 0
    level = math.min(full, math.max(floor, level + slope * (gain - passed)))
    cap = math.max(1, pace() / 4)
  elseif at and at > now + 1000 then
    -- The clock was set back: start over from what is there.
    at = now
  end
  return { level = level, have = math.min(have, cap), cap = cap, reserve = cap >= 20 and cap / 10 or 0, debt = debt,
    recovers = recovers, at = math.max(at or now, now) }
end

local function save(ctl, bucket)
  change(ctl, 'level', bucket.level)
  change(ctl, 'have', bucket.have)
  change(ctl, 'at', int(bucket.at))
  if bucket.debt > 0 or ctl.debt then change(ctl, 'debt', bucket.debt) end
end

-- The permits that were lent within the last 60 s and the 250 ms for which they are good, by half seconds; nil when
-- they are not counted. They are counted only for a project with multicasts whose quota has too little slack for the
-- largest one.
local function lent_lately(base, quota, now, unit)
  if quota * 0.0068 >= BATCH or (not unit and redis.call('EXISTS', base .. 'lent') == 0) then return nil end
  local counts, sum, old = pairs_to_map(redis.call('HGETALL', base .. 'lent')), 0, {}
  for name, count in pairs(counts) do
    local at = tonumber(name) * 500
    if at < now - 60750 or at > now + 60000 then old[#old + 1] = name else sum = sum + tonumber(count) end
  end
  if #old > 0 then redis.call('HDEL', base .. 'lent', unpack(old)) end
  return { counts = counts, sum = sum, at = math.floor(now / 500) }
end

local function add_lent(base, lately, count)
  redis.call('HINCRBY', base .. 'lent', int(lately.at), int(count))
  lately.sum = lately.sum + count
end

-- Subtracts permits that are given back from the latest half seconds, in which they were lent.
local function take_back(base, lately, returned)
  for _, at in ipairs({ lately.at, lately.at - 1 }) do
    local count = math.min(returned, tonumber(lately.counts[int(at)] or '0'))
    if count > 0 then
      redis.call('HINCRBY', base .. 'lent', int(at), int(-count))
      lately.sum, returned = lately.sum - count, returned - count
    end
  end
end

-- Reserves permits for 150 ms for single recipients that found none. Returns how many are reserved.
local function owe_singles(base, ctl, now, lent, missing)
  local owed = (tonumber(ctl.owed_until) or 0) > now and math.max(0, tonumber(ctl.owed) - lent) or 0
  owed = math.max(owed, missing)
  if missing > 0 then
    -- Only a request that found too few permits prolongs it: if every call did, fan-outs would never begin.
    change(ctl, 'owed', int(owed))
    change(ctl, 'owed_until', int(now + 150))
  elseif owed > 0 then
    change(ctl, 'owed', int(owed))
  elseif ctl.owed then
    redis.call('HDEL', base .. 'ctl', 'owed', 'owed_until')
    ctl.owed, ctl.owed_until, ctl.changes.owed, ctl.changes.owed_until = nil, nil, nil, nil
  end
  return owed
end

-- Lends the permits of one multicast, all of them or none. It does if the fan-out share has no debt, no single
-- recipient waits, and the last 60 s have room for it beside the tenth of the quota that is kept for single recipients.
local function lend_unit(bucket, unit, quota, missing, spare, lately)
  if bucket.debt >= 1 or missing > 0 or bucket.have < 1 then return 0 end
  if lately and lately.sum + unit > quota - quota / 10 then return 0 end
  local paid = bucket.recovers and 1 or math.min(unit, math.max(0, spare))
  bucket.have = bucket.have - paid
  bucket.debt = bucket.debt + unit - (bucket.recovers and 0 or paid)
  return unit
end

-- Lends permits: to single recipients whatever there is, to fan-outs at most half of it, so that the other workers find
-- something too, and never the last tenth of the bucket, which is for single recipients.
-- `ctl`: the fields that the caller has read and will write. `unit`: recipients of the fan-out's next multicast; nil
-- from a worker whose requests carry one recipient each.
local function lend(base, ctl, quota, now, returned, single, fanout, unit)
  local bucket = refill(ctl, quota, now)
  if bucket.cap == 0 then
    save(ctl, bucket)
    return 0
  end
  local lately = lent_lately(base, quota, now, unit)
  local left = math.huge
  if lately then
    take_back(base, lately, returned)
    left = math.max(0, quota - lately.sum)
  end
  local repaid = math.min(bucket.debt, returned)
  bucket.debt = bucket.debt - repaid
  bucket.have = math.min(bucket.cap, bucket.have + returned - repaid)
  local lent = math.min(single, math.floor(bucket.have), left)
  bucket.have = bucket.have - lent
  -- Single recipients that found no permits ask again in a moment; the permits that come in until then are theirs.
  local missing = single - lent
  local reserve = math.max(owe_singles(base, ctl, now, lent, missing), bucket.reserve)
  local spare = math.floor(bucket.have - reserve)
  local more = 0
  if fanout > 0 and spare > 0 and bucket.debt < 1 then
    more = math.min(fanout, spare, left - lent, math.max(math.ceil(bucket.have / 2), math.min(spare, 10)))
  end
  if unit and unit > 1 and more < unit then
    more = lend_unit(bucket, math.min(unit, math.max(1, math.floor(quota / 4))), quota, missing, spare, lately)
  else
    bucket.have = bucket.have - more
  end
  if lately and lent + more > 0 then add_lent(base, lately, lent + more) end
  save(ctl, bucket)
  return lent + more
end

-- ---------------------------------------------------------------------------------------------------------------
-- The share rule: how FCM's answers change the pace. A 5xx with Retry-After, a refusal here, always makes its own
-- recipients wait. The project is held only on evidence, counted fleet-wide: at least a tenth, and at least five, of
-- its last 200 answers (or of those of the last second, if they are more; none older than 60 s) were refusals. The hold
-- lasts for the longest Retry-After among them. Below that share the pace is multiplied by one minus the share.
-- After a hold the project recovers: it sends ten requests a second until 20 answers have come since the hold. If fewer
-- than a tenth are refusals, it goes on at half the pace from before the first hold; otherwise it is held again.

local COUNTED_ANSWERS = 200
local MOST_REPORTS = 200

-- Holds every send of the project. `level` stays: half of it is the pace after the recovery.
local function hold_sends(ctl, until_ms)
  local held = int(math.max(tonumber(ctl.hold_until) or 0, until_ms))
  change(ctl, 'hold_until', held)
  change(ctl, 'have', 0)
  change(ctl, 'at', held)
  change(ctl, 'recovering', '1')
  return tonumber(held)
end

-- The pace as `overview` shows it: permits a second, and whether the project recovers from a hold.
local function current_pace(ctl, now)
  local rate, recovering = tonumber(ctl.level) or 0, ctl.recovering == '1'
  if recovering then
    rate = math.min(rate, RECOVERY_RATE)
  elseif now < (tonumber(ctl.refused_at) or 0) + REFUSAL_COUNTS then
    rate = rate * (1 - (tonumber(ctl.share) or 0))
  end
  return { rate = string.format('%.6f', rate), recovering = recovering and '1' or '0' }
end

local function parse_report(text)
  local at, answers, refused, told = string.match(text, '^(%d+)|(%d+)|(%d+)|(%d+)$')
  return tonumber(at), tonumber(answers), tonumber(refused), tonumber(told)
end

-- Adds a report to `answers`, a ring of MOST_REPORTS places; `newest` grows with each place used. Reports within 50 ms
-- share a place.
local function add_report(base, ctl, now, since, answers, refused, told)
  local place = tonumber(ctl.newest) or 0
  local newest = redis.call('HGET', base .. 'answers', int(place % MOST_REPORTS))
  local at, answers_, refused_, told_ = parse_report(newest or '')
  if at and at > since and at <= now and now < at + 50 then
    answers, refused, told = answers + answers_, refused + refused_, math.max(told, told_)
  else
    at, place = now, place + 1
    change(ctl, 'newest', int(place))
  end
  redis.call('HSET', base .. 'answers', int(place % MOST_REPORTS),
    string.format('%d|%d|%d|%d', at, answers, refused, told))
end

-- Counts the answers that were reported after `since`. Returns their number, the number of refusals, and the latest
-- time until which a refusal told its recipients to wait.
local function count_answers(base, ctl, now, since)
  local answers, refused, told, newest = 0, 0, 0, tonumber(ctl.newest) or 0
  -- At a high pace the newest 25 hold the last second.
  for first = 0, MOST_REPORTS - 1, 25 do
    local places = {}
    for back = first, first + 24 do places[#places + 1] = int((newest - back) % MOST_REPORTS) end
    for _, text in ipairs(redis.call('HMGET', base .. 'answers', unpack(places))) do
      local at, answers_, refused_, told_ = parse_report(text or '')
      if not at or at <= since or (answers >= COUNTED_ANSWERS and at < now - 1000) then
        return answers, refused, told
      end
      answers, refused, told = answers + answers_, refused + refused_, math.max(told, told_)
    end
  end
  return answers, refused, told
end

-- Applies a worker's report of answers to the pace. `report`: number of `answers` since its last claim, of refusals
-- among them (`refused`), the longest wait that these were `told`, in ms from now, and the age of the first answer in
-- ms (`span`).
local function hear_answers(base, ctl, now, report)
  local hold_until, recovers = tonumber(ctl.hold_until) or 0, ctl.recovering == '1'
  local answers, refused = tonumber(report.answers), tonumber(report.refused) or 0
  if answers ~= 0 then change(ctl, 'answered_at', int(now)) end
  if not answers then
    -- A worker of an older version reports no answers: the recovery ends, and the pace climbs from its floor.
    if recovers and hold_until <= now then
      change(ctl, 'recovering', '0')
      change(ctl, 'level', 0)
    end
    return
  end
  local is_held = hold_until > now
  -- Answers from before the end of a hold do not count for the recovery.
  if answers == 0 or (not is_held and now - (tonumber(report.span) or 0) < hold_until) then return end
  local since = is_held and 0 or hold_until
  local told = refused > 0 and now + math.max(0, tonumber(report.told) or 0) or 0
  add_report(base, ctl, now, since, answers, refused, told)
  local is_clean = now >= (tonumber(ctl.refused_at) or 0) + REFUSAL_COUNTS
  if refused > 0 then change(ctl, 'refused_at', int(now)) end
  if refused == 0 and is_clean and not recovers then return end
  -- A recovery sends ten requests a second or fewer, so its 20 answers may take longer than a minute.
  if is_held or not recovers then since = math.max(since, now - REFUSAL_COUNTS) end
  local all, bad, until_ms = count_answers(base, ctl, now, since)
  local is_bad = 10 * bad >= all
  local is_judged = recovers and not is_held and all >= 20
  change(ctl, 'share', math.min(0.1, bad / math.max(1, all)))
  if is_bad and (is_judged or (refused > 0 and bad >= 5)) then
    hold_sends(ctl, math.max(now, until_ms))
  elseif is_judged then
    change(ctl, 'recovering', '0')
    change(ctl, 'level', (tonumber(ctl.level) or 0) / 2)
  end
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

-- Holds every send of the project at once: FCM refused its quota.
local function hold_project(base, ms, now)
  local ctl = look(base)
  local held = hold_sends(ctl, now + ms)
  keep(base, ctl)
  return held
end

-- hold: every send of the project waits. ARGV: ms. Returns the time until which.
local function hold(keys, args)
  return int(hold_project(keys[1], tonumber(args[1]), steady_ms(keys[1])))
end
