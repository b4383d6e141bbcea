-- Jobs that are paused, for operators: which ones a guard stopped, and how many jobs wait for an operator or for a
-- time.
--
-- Keys after the base, zsets of jobs by when they were paused, in Redis TIME:
--   jobs_stopped    paused by stop_if, by a message that FCM refuses, or after their canary
--   jobs_paused     paused by an operator
-- A worker of an older version neither adds nor removes a job. A reader counts a job only if its hash says `paused`, and
-- `repair` adds missing jobs and removes others.

local pauses
do

pauses = {}

-- One call examines at most this many jobs of a list.
local MOST_EXAMINED = 100

-- The guard that a reason names: stop_if, message or canary; nil for another reason.
local function guard_of(reason)
  if reason == 'canary' then return 'canary' end
  if string.find(reason or '', '^stop_if: ') then return 'stop_if' end
  return string.find(reason or '', '^message refused: ') and 'message' or nil
end

-- Adds a job that is paused for a reason. Part of a step.
function pauses.add(base, id, reason)
  local list, other = 'jobs_paused', 'jobs_stopped'
  if guard_of(reason) then list, other = other, list end
  write('ZADD', base .. list, int(wall_ms()), id)
  write('ZREM', base .. other, id)
end

-- Removes a job that continues or ends. Part of a step.
function pauses.remove(base, id)
  for _, list in ipairs({ 'jobs_stopped', 'jobs_paused' }) do write('ZREM', base .. list, id) end
end

-- The members of a zset, at most MOST_EXAMINED, whose job is in a state: pairs of a job and its reason.
local function examine(base, list, state)
  local found = {}
  for _, id in ipairs(redis.call('ZRANGE', base .. list, 0, MOST_EXAMINED - 1)) do
    local known, reason = unpack(redis.call('HMGET', base .. 'job:' .. id, 'state', 'reason'))
    if known == state then found[#found + 1] = { id, reason or '' } end
  end
  return found
end

-- Counts the jobs that are not over and wait for an operator or for a time, none twice: `stop_if`, `message`, `canary`:
-- paused by that guard; `paused`: by an operator, and stopped jobs that are not examined; `scheduled`: not paused;
-- `closed`: outside their send window.
function pauses.count(base)
  local found = { stop_if = 0, message = 0, canary = 0, paused = 0, closed = 0 }
  local scheduled = redis.call('ZCARD', base .. 'sched')
  for _, list in ipairs({ 'jobs_stopped', 'jobs_paused' }) do
    for _, job in ipairs(examine(base, list, 'paused')) do
      local id, reason = unpack(job)
      local kind = guard_of(reason) or 'paused'
      found[kind] = found[kind] + 1
      if scheduled > 0 and redis.call('ZSCORE', base .. 'sched', id) then scheduled = scheduled - 1 end
    end
    found.paused = found.paused + math.max(0, redis.call('ZCARD', base .. list) - MOST_EXAMINED)
  end
  for _, job in ipairs(examine(base, 'later', 'waiting')) do
    local _, reason = unpack(job)
    if string.find(reason, '^send_window: ') then found.closed = found.closed + 1 end
  end
  found.scheduled = scheduled
  return found
end

-- The jobs that a guard stopped, at most `most`, the first one first: each with its hash, when it was stopped, and
-- `continues_ms`, after how many ms it continues after its canary without an operator ('' = never).
function pauses.stopped(base, most, now)
  local jobs = {}
  for _, job in ipairs(examine(base, 'jobs_stopped', 'paused')) do
    local id, reason = unpack(job)
    if #jobs < most and guard_of(reason) then
      local due = guard_of(reason) == 'canary' and redis.call('HGET', base .. 'spec:' .. id, 'canary_until')
      jobs[#jobs + 1] = { 'id', id, 'job', redis.call('HGETALL', base .. 'job:' .. id),
        'stopped_ms', redis.call('ZSCORE', base .. 'jobs_stopped', id),
        'continues_ms', due and int(math.max(0, tonumber(due) - now)) or '' }
    end
  end
  return jobs
end

-- Adds an open job that is paused, unless it is listed. `paused`, `canary_held`: of its spec.
function pauses.add_missing(base, id, paused, canary_held)
  if not paused and canary_held ~= '1' then return end
  for _, list in ipairs({ 'jobs_stopped', 'jobs_paused' }) do
    if redis.call('ZSCORE', base .. list, id) then return end
  end
  local state, reason = unpack(redis.call('HMGET', base .. 'job:' .. id, 'state', 'reason'))
  if state == 'paused' then in_step(base, id, pauses.add, base, id, reason) end
end

-- Removes listed jobs that are not paused, at most MOST_EXAMINED of each list.
function pauses.clean(base)
  for _, list in ipairs({ 'jobs_stopped', 'jobs_paused' }) do
    for _, id in ipairs(redis.call('ZRANGE', base .. list, 0, MOST_EXAMINED - 1)) do
      if redis.call('HGET', base .. 'job:' .. id, 'state') ~= 'paused' then write('ZREM', base .. list, id) end
    end
  end
end

end
