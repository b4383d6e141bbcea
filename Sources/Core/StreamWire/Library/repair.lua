-- repair: ends jobs that count recipients as open although done:<id> has all bits set: an error in an earlier version
-- left them. Also corrects the lists of paused jobs; see pauses.lua. `cursor`: '0' at first; `most`: jobs to check.
-- Returns 'ok', the next `cursor`, and `jobs`: each job and its number of recipients that were not counted.

local repair
do

-- Ends a job by its counters; recipients that were not counted become unknown. Part of a step. Returns their number.
local function end_uncounted(base, id, total, left)
  local missing = total
  local counted = redis.call('HMGET', base .. 'job:' .. id, 'sent', 'failed', 'unknown', 'cancelled', 'expired')
  for _, count in ipairs(counted) do missing = missing - (tonumber(count) or 0) end
  missing = math.max(0, missing)
  local open = tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0
  write('HSET', base .. 'ctl', 'left', int(open - math.max(0, left)))
  finish_by_counters(base, id, 'unknown', missing,
    'repaired: ' .. int(missing) .. ' recipients had their result and were not counted')
  return missing
end

function repair(base, args)
  local cursor, most = unpack(args, 1, 2)
  local next_cursor, ids = unpack(redis.call('SSCAN', base .. 'jobs_open', cursor, 'COUNT', most))
  if cursor == '0' then pauses.clean(base) end
  compact.free_lost(base)
  local jobs = {}
  for _, id in ipairs(ids) do
    local total, left, paused, held = unpack(redis.call('HMGET', base .. 'spec:' .. id, 'total', 'left', 'paused',
      'canary_held'))
    total, left = tonumber(total), tonumber(left)
    if total and not stuck_jobs[id]
      and (left <= 0 or (total > 1 and redis.call('BITCOUNT', base .. 'done:' .. id) >= total)) then
      add_pair(jobs, id, int((in_step(base, id, end_uncounted, base, id, total, left))))
    elseif not total then
      -- The job has no spec: only its place in the set is left.
      write('SREM', base .. 'jobs_open', id)
    elseif not stuck_jobs[id] then
      pauses.add_missing(base, id, paused, held)
    end
  end
  return { 'outcome', 'ok', 'cursor', next_cursor, 'jobs', jobs }
end

end
