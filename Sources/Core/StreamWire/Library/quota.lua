-- The quota governor: a token bucket of permits for sends, lent to workers in blocks. No 60 s may see more than the
-- quota, however FCM's windows lie: permits come evenly, at 98.5 % of it. The bucket and the lent permits, each a
-- quarter of a second, stay within the rest. From idle the rate climbs over 60 s: it climbs while the bucket is drained
-- and FCM answers, and falls by the same slope while the bucket is full. After a hold: see "The share rule".
--
-- A legacy multicast is sent as a whole: the fan-out share may go into debt for it. While it has debt, the permits that
-- come in go first to single recipients (`reserve`), then to the debt, then to the bucket. The multicast of a job of one
-- batch does not wait for the debt of fan-outs: it has a debt of its own, which is paid before theirs. While a debt is
-- paid, the permits count as used, and one good answer since the last multicast counts as answering.

local lend, hold_sends, current_pace, pace_reason, apply_answers, update_quota, lowest_quota
do

-- Workers whose configurations differ for a moment may have different quotas; the lowest one counts.

-- Stores the lowest quota of the living workers. Called when a worker's own quota changes, and when a worker ends.
function update_quota(base)
  local control, names, lowest = base .. 'ctl', {}, nil
  for _, worker in ipairs(redis.call('HKEYS', base .. 'leases')) do names[#names + 1] = 'quota:' .. worker end
  for first = 1, #names, 1000 do
    local some = redis.call('HMGET', control, unpack(names, first, math.min(#names, first + 999)))
    for _, quota in ipairs(some) do
      if quota and (not lowest or tonumber(quota) < lowest) then lowest = tonumber(quota) end
    end
  end
  if lowest then redis.call('HSET', control, 'quota', int(lowest)) end
  return lowest
end

-- The quota that counts for a worker that names its own one.
function lowest_quota(control, own) return math.min(own, tonumber(control.quota) or own) end

-- Requests a second of a project that recovers from a hold.
local RECOVERY_RATE = 10
-- FCM counts as answering if a worker reported a good answer within this time, in ms.
local ANSWERS_WITHIN = 2000
-- How long a refusal counts, in ms.
local REFUSAL_COUNTS = 60000
-- A demand for permits lasts this long after a worker got fewer than it wanted, in ms.
local DEMAND_LASTS = 1000
-- The longest time between two calls in which permits count as used without a bucket that was empty, in seconds.
local LONGEST_USE = 1
-- The time over which `used` and `allowed` are averaged, in seconds.
local AVERAGED_OVER = 5

-- What the pace remembers beside the bucket, in one field: `small`, the part of the debt of jobs of one batch;
-- `multicast_at`, `good_at`, `wanted_at`: when a multicast was last lent, FCM last answered well, and a worker last got
-- fewer permits than it wanted, or could not use them; `ramp`: permits a second that the ramp allows while FCM answers;
-- `allowed`, `used`, `lapsed`: averages of the ramp, of the used permits, and of the lapsed ones; see pace_reason;
-- `since`: when the demand of `wanted_at` began. Before, the project sent little, so FCM had little to answer.
local PACING = { 'small', 'multicast_at', 'good_at', 'wanted_at', 'ramp', 'allowed', 'used', 'lapsed', 'since' }

local function read_pacing(control)
  if not control.read_pacing then
    local pacing, i = {}, 0
    for word in string.gmatch(control.pacing or '', '[^|]+') do
      i = i + 1
      pacing[PACING[i] or ''] = tonumber(word)
    end
    for _, name in ipairs(PACING) do pacing[name] = pacing[name] or 0 end
    control.read_pacing = pacing
  end
  return control.read_pacing
end

local function save_pacing(control)
  local pacing, values = read_pacing(control), {}
  for i, name in ipairs(PACING) do values[i] = string.format('%.14g', pacing[name]) end
  set_control(control, 'pacing', table.concat(values, '|'))
end

-- The highest rate of a quota in permits a second, the rate at which the ramp begins, and its rise in each second.
local function ramp_of(quota)
  local full = 0.985 * quota / 60
  local floor = math.min(full, math.max(full / 50, 10))
  return full, floor, (full - floor) / 60
end

-- After a hold the ramp begins at the level from there.
local function restart_ramp(control)
  local pacing, level = read_pacing(control), tonumber(control.level) or 0
  pacing.ramp, pacing.allowed, pacing.used, pacing.lapsed = level, level, level, 0
end

-- Whether FCM answers well. One answer to a multicast counts for as long as the debt of the multicast is paid.
local function is_answering(control, pacing, debt, now)
  if pacing.good_at == 0 then return false end
  if now <= pacing.good_at + ANSWERS_WITHIN then return true end
  return debt > 0 and pacing.good_at >= pacing.multicast_at and pacing.good_at >= (tonumber(control.answered_at) or 0)
end

-- Follows the ramp, and averages what it allows and what is used, for pace_reason. `rate`: permits used a second.
local function follow_ramp(pacing, quota, debt, passed, rate, now)
  local full, floor, slope = ramp_of(quota)
  local is_wanted = debt > 0 or now <= pacing.wanted_at + DEMAND_LASTS
  local climb = is_wanted and math.min(passed, LONGEST_USE) or -passed
  pacing.ramp = math.min(full, math.max(floor, pacing.ramp + slope * climb))
  if is_wanted then
    local weight = math.min(1, passed / AVERAGED_OVER)
    pacing.allowed = pacing.allowed + (pacing.ramp - pacing.allowed) * weight
    pacing.used = pacing.used + (rate - pacing.used) * weight
    pacing.lapsed = pacing.lapsed * (1 - weight)
  else
    pacing.allowed, pacing.used, pacing.lapsed = pacing.ramp, pacing.ramp, 0
  end
end

-- The bucket as it is now: `have` permits of at most `cap`; `level`: permits a second at this point of the ramp.
local function refill(control, quota, now)
  local full, floor, slope = ramp_of(quota)
  local pacing = read_pacing(control)
  local level = math.min(full, math.max(floor, tonumber(control.level) or floor))
  local hold_until, debt = tonumber(control.hold_until) or 0, tonumber(control.debt) or 0
  if hold_until > now then
    return { level = level, have = 0, cap = 0, reserve = 0, debt = debt, at = hold_until }
  end
  local recovers = control.recovering == '1'
  local share = now < (tonumber(control.refused_at) or 0) + REFUSAL_COUNTS and tonumber(control.share) or 0
  local function pace() return recovers and math.min(full, RECOVERY_RATE) or level * (1 - share) end
  local rate = pace()
  local cap = math.max(1, rate / 4)
  local at, have = tonumber(control.at), tonumber(control.have) or cap
  if at and now > at then
    local passed = math.min(now - at, 600000) / 1000
    local filling = math.min(passed, math.max(0, cap - have + (recovers and 0 or debt)) / rate)
    local income = rate * filling
    local answers = is_answering(control, pacing, debt, now)
    follow_ramp(pacing, quota, debt, passed, income / passed, now)
    if recovers then
      -- A recovery lends by requests; their recipients' debt is paid at half the level, the pace after the recovery.
      local paid = math.min(debt, level / 2 * passed)
      debt, pacing.small = debt - paid, math.max(0, pacing.small - paid)
    else
      local paid = math.min(debt, math.max(0, income - math.max(0, math.max(1, cap / 10) - have)))
      debt, income = debt - paid, income - paid
      pacing.small = math.max(0, pacing.small - paid)
    end
    have = have + income
    local gain = recovers and filling or answers and 2 * math.min(filling, LONGEST_USE) or 0
    level = math.min(full, math.max(floor, level + slope * (gain - passed)))
    cap = math.max(1, pace() / 4)
  elseif at and at > now + 1000 then
    -- The clock was set back: start over from what is there.
    at = now
  end
  return { level = level, have = math.min(have, cap), cap = cap, reserve = cap >= 20 and cap / 10 or 0, debt = debt,
    recovers = recovers, at = math.max(at or now, now) }
end

local function save_bucket(control, bucket)
  set_control(control, 'level', bucket.level)
  set_control(control, 'have', bucket.have)
  set_control(control, 'at', int(bucket.at))
  if bucket.debt > 0 or control.debt then set_control(control, 'debt', bucket.debt) end
  save_pacing(control)
end

-- How many permits may be lent in advance without a look at the last 60 s.
local function slack_of(quota) return quota * 0.0068 end

-- The permits that were lent within the last 60 s and the 250 ms for which they are good, by half seconds; nil unless
-- the project has multicasts and too little slack for the largest one. `multicast`: see lend.
local function recent_loans(base, quota, now, multicast)
  if slack_of(quota) >= BATCH or (not multicast and redis.call('EXISTS', base .. 'lent') == 0) then return nil end
  local counts, sum, old = pairs_to_map(redis.call('HGETALL', base .. 'lent')), 0, {}
  for name, count in pairs(counts) do
    local at = tonumber(name) * 500
    if at < now - 60750 or at > now + 60000 then old[#old + 1] = name else sum = sum + tonumber(count) end
  end
  if #old > 0 then redis.call('HDEL', base .. 'lent', unpack(old)) end
  return { counts = counts, sum = sum, at = math.floor(now / 500) }
end

-- Subtracts permits that are given back from the latest half seconds, in which they were lent.
local function subtract_loans(base, loans, returned)
  for _, at in ipairs({ loans.at, loans.at - 1 }) do
    local count = math.min(returned, tonumber(loans.counts[int(at)] or '0'))
    if count > 0 then
      redis.call('HINCRBY', base .. 'lent', int(at), int(-count))
      loans.sum, returned = loans.sum - count, returned - count
    end
  end
end

-- Reserves permits for 150 ms for single recipients that found none. Returns how many are reserved.
local function reserve_for_singles(base, control, now, lent, missing)
  local owed = (tonumber(control.owed_until) or 0) > now and math.max(0, tonumber(control.owed) - lent) or 0
  owed = math.max(owed, missing)
  if missing > 0 then
    -- Only a call that found too few permits prolongs the reserve: if every call did, fan-outs would never begin.
    set_control(control, 'owed', int(owed))
    set_control(control, 'owed_until', int(now + 150))
  elseif owed > 0 then
    set_control(control, 'owed', int(owed))
  elseif control.owed then
    redis.call('HDEL', base .. 'ctl', 'owed', 'owed_until')
    control.owed, control.owed_until, control.changes.owed, control.changes.owed_until = nil, nil, nil, nil
  end
  return owed
end

-- Lends the permits of one multicast, all or none: there must be no debt, no single recipient may wait, and the last 60 s
-- must have room beside the tenth of the quota that is kept for single recipients. The multicast of a job of one batch,
-- `is_small`, waits only for the debt of its like and for slack, and leaves half of that tenth.
local function lend_multicast(bucket, pacing, asked, quota, missing, spare, loans)
  local count, is_small = math.min(asked.multicast, math.max(1, math.floor(quota / 4))), asked.is_small
  local debt = is_small and pacing.small or bucket.debt
  if debt >= 1 or missing > 0 or bucket.have < 1 then return 0 end
  if loans and loans.sum + count > quota - quota / (is_small and 20 or 10) then return 0 end
  if not loans and is_small and bucket.debt + count > slack_of(quota) then return 0 end
  local paid = bucket.recovers and 1 or math.min(count, math.max(0, spare))
  local owed = count - (bucket.recovers and 0 or paid)
  bucket.have, bucket.debt = bucket.have - paid, bucket.debt + owed
  if is_small then pacing.small = pacing.small + owed end
  return count
end

-- Lends permits. Single recipients get all that the bucket has. Fan-outs get at most half of it, so that other workers
-- find some too, and never the last tenth of the bucket, which is kept for single recipients.
-- `control`: as read; the caller writes it. `asked`: permits `returned`, `lapsed` although recipients waited (nil: the
-- caller does not say), and wanted for `single` recipients and for a `fanout`; `multicast`: recipients of the fan-out's
-- next multicast, which cannot be divided (0 = there is none), nil from a worker whose requests carry one recipient each;
-- `is_small`: the multicast is of a job of one batch.
function lend(base, control, quota, now, asked)
  local bucket, multicast, pacing = refill(control, quota, now), asked.multicast, read_pacing(control)
  if bucket.cap == 0 then
    save_bucket(control, bucket)
    return 0
  end
  local loans, left = recent_loans(base, quota, now, multicast), math.huge
  if loans then
    subtract_loans(base, loans, asked.returned)
    left = math.max(0, quota - loans.sum)
  end
  -- Returned permits repay the fan-out share's debt first.
  local repaid = math.min(bucket.debt, asked.returned)
  bucket.debt = bucket.debt - repaid
  pacing.small = math.min(pacing.small, bucket.debt)
  bucket.have = math.min(bucket.cap, bucket.have + asked.returned - repaid)
  local lent = math.min(asked.single, math.floor(bucket.have), left)
  bucket.have = bucket.have - lent
  -- The permits that come in next are reserved for single recipients that found none.
  local missing, lapsed = asked.single - lent, asked.lapsed or 0
  local reserve = math.max(reserve_for_singles(base, control, now, lent, missing), bucket.reserve)
  local spare, more = math.floor(bucket.have - reserve), 0
  if asked.fanout > 0 and spare > 0 and bucket.debt < 1 then
    more = math.min(asked.fanout, spare, left - lent, math.max(math.ceil(bucket.have / 2), math.min(spare, 10)))
  end
  if multicast and multicast > 1 and more < multicast then
    more = lend_multicast(bucket, pacing, asked, quota, missing, spare, loans)
    if more > 0 then pacing.multicast_at = now end
  else
    bucket.have = bucket.have - more
  end
  if missing > 0 or more < math.max(asked.fanout, multicast or 0) or lapsed > 0 then
    pacing.since, pacing.wanted_at = now > pacing.wanted_at + 2 * DEMAND_LASTS and now or pacing.since, now
  end
  pacing.lapsed = pacing.lapsed + lapsed / AVERAGED_OVER
  if loans and lent + more > 0 then redis.call('HINCRBY', base .. 'lent', int(loans.at), int(lent + more)) end
  save_bucket(control, bucket)
  return lent + more
end

-- The share rule: how FCM's answers change the pace. A refusal is a 5xx with Retry-After. The project is held if at
-- least a tenth, and at least five, of its last 200 answers were refusals, counted fleet-wide. If the last second had
-- more answers, they all count; none older than 60 s does. The hold lasts for the longest Retry-After among them. Below
-- that share the pace is multiplied by one minus the share.
-- After a hold the project recovers: it sends ten requests a second until 20 answers have come. If fewer than a tenth
-- are refusals, it continues at half the pace from before the first hold; otherwise it is held again.

local COUNTED_ANSWERS = 200
local MOST_REPORTS = 200

-- Holds every send of the project. `level` stays: half of it is the pace after the recovery.
function hold_sends(control, until_ms)
  local held = int(math.max(tonumber(control.hold_until) or 0, until_ms))
  set_control(control, 'hold_until', held)
  set_control(control, 'have', 0)
  set_control(control, 'at', held)
  set_control(control, 'recovering', '1')
  return tonumber(held)
end

-- Why the project sends less than half of what its ramp allows although recipients wait; '' when it does not.
function pace_reason(control, now)
  local pacing = read_pacing(control)
  local sent = math.max(0, pacing.used - pacing.lapsed)
  if pacing.wanted_at == 0 or now > pacing.wanted_at + 2 * DEMAND_LASTS or sent >= pacing.allowed / 2 then return '' end
  local text = string.format('pace: %d of %d sends a second: ', math.floor(sent), math.floor(pacing.allowed))
  local answered_at = tonumber(control.answered_at) or 0
  if answered_at == 0 then return text .. 'FCM has not answered yet' end
  local silent_since = math.max(answered_at, pacing.since)
  local cause = pacing.lapsed > pacing.used / 2 and 'the workers are at their limits, such as requests in flight'
    or 'the rate rises only while FCM answers well'
  if now <= silent_since + ANSWERS_WITHIN then return text .. cause end
  return text .. string.format('FCM has not answered for %d s', math.floor((now - silent_since) / 1000))
end

-- The pace as `overview` shows it: permits a second, and whether the project recovers from a hold.
function current_pace(control, now)
  local rate, recovering = tonumber(control.level) or 0, control.recovering == '1'
  if recovering then
    rate = math.min(rate, RECOVERY_RATE)
  elseif now < (tonumber(control.refused_at) or 0) + REFUSAL_COUNTS then
    rate = rate * (1 - (tonumber(control.share) or 0))
  end
  return { rate = string.format('%.6f', rate), recovering = recovering and '1' or '0' }
end

local function parse_report(text)
  local at, answers, refusals, wait_until = string.match(text, '^(%d+)|(%d+)|(%d+)|(%d+)$')
  return tonumber(at), tonumber(answers), tonumber(refusals), tonumber(wait_until)
end

-- Adds a report to the ring `answers`; `newest` grows with each place used. Reports within 50 ms share a place.
local function add_report(base, control, now, since, answers, refusals, wait_until)
  local place = tonumber(control.newest) or 0
  local newest = redis.call('HGET', base .. 'answers', int(place % MOST_REPORTS))
  local at, known_answers, known_refusals, known_wait = parse_report(newest or '')
  if at and at > since and at <= now and now < at + 50 then
    answers, refusals = answers + known_answers, refusals + known_refusals
    wait_until = math.max(wait_until, known_wait)
  else
    at, place = now, place + 1
    set_control(control, 'newest', int(place))
  end
  redis.call('HSET', base .. 'answers', int(place % MOST_REPORTS),
    string.format('%d|%d|%d|%d', at, answers, refusals, wait_until))
end

-- Counts the answers reported after `since`, and the refusals among them; also returns the latest end of their waits.
local function count_answers(base, control, now, since)
  local answers, refusals, wait_until, newest = 0, 0, 0, tonumber(control.newest) or 0
  -- At a high pace the newest 25 hold the last second.
  for first = 0, MOST_REPORTS - 1, 25 do
    local places = {}
    for back = first, first + 24 do places[#places + 1] = int((newest - back) % MOST_REPORTS) end
    for _, text in ipairs(redis.call('HMGET', base .. 'answers', unpack(places))) do
      local at, more_answers, more_refusals, more_wait = parse_report(text or '')
      if not at or at <= since or (answers >= COUNTED_ANSWERS and at < now - 1000) then
        return answers, refusals, wait_until
      end
      answers, refusals = answers + more_answers, refusals + more_refusals
      wait_until = math.max(wait_until, more_wait)
    end
  end
  return answers, refusals, wait_until
end

-- Holds the project, or ends its recovery, as the share of refusals says. `all`, `bad`: answers, and refusals among
-- them; `has_refusals`: the report itself has some; `is_judged`: the recovery has its answers.
local function judge_share(base, control, now, all, bad, wait_until, has_refusals, is_judged)
  set_control(control, 'share', math.min(0.1, bad / math.max(1, all)))
  if 10 * bad >= all and (is_judged or (has_refusals and bad >= 5)) then
    if (tonumber(control.hold_until) or 0) <= now then mark_hold(base, math.max(0, wait_until - now)) end
    hold_sends(control, math.max(now, wait_until))
  elseif is_judged then
    set_control(control, 'recovering', '0')
    set_control(control, 'level', (tonumber(control.level) or 0) / 2)
    restart_ramp(control)
  end
end

-- Applies a worker's report to the pace. `report`: number of `answers` since its last claim, of refusals among them
-- (`refused`), of answers that accepted no recipient for want of capacity (`failing`), the longest Retry-After in ms
-- (`retry_after`), and the age of the first answer in ms (`span`). Without `answers` the worker counts none: the
-- recovery ends, and the pace climbs from its floor.
function apply_answers(base, control, now, report)
  local hold_until, recovers = tonumber(control.hold_until) or 0, control.recovering == '1'
  local answers, refusals = tonumber(report.answers), tonumber(report.refused) or 0
  if answers ~= 0 then
    set_control(control, 'answered_at', int(now))
    if (answers or 1) > math.max(refusals, tonumber(report.failing) or 0) then read_pacing(control).good_at = now end
  end
  if not answers then
    if recovers and hold_until <= now then
      set_control(control, 'recovering', '0')
      set_control(control, 'level', 0)
      restart_ramp(control)
    end
    return
  end
  local is_held = hold_until > now
  -- Answers from before the end of a hold do not count for the recovery.
  if answers == 0 or (not is_held and now - (tonumber(report.span) or 0) < hold_until) then return end
  local since = is_held and 0 or hold_until
  local wait_until = refusals > 0 and now + math.max(0, tonumber(report.retry_after) or 0) or 0
  add_report(base, control, now, since, answers, refusals, wait_until)
  local is_clean = now >= (tonumber(control.refused_at) or 0) + REFUSAL_COUNTS
  if refusals > 0 then set_control(control, 'refused_at', int(now)) end
  if refusals == 0 and is_clean and not recovers then return end
  -- A recovery sends ten requests a second or fewer, so its 20 answers may take longer than a minute.
  if is_held or not recovers then since = math.max(since, now - REFUSAL_COUNTS) end
  local all, bad, longest_wait = count_answers(base, control, now, since)
  judge_share(base, control, now, all, bad, longest_wait, refusals > 0, recovers and not is_held and all >= 20)
end

end
