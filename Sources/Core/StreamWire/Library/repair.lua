
-- ---------------------------------------------------------------------------------------------------------------
-- repair: ends jobs whose recipients all have their bit in done:<id> while the job still counts some as open. An error
-- in an earlier version of this library left such jobs; no other function ends them.
-- ARGV: cursor ('0' to begin), number of jobs to check. Returns {next cursor, job, recipients not counted, ...}.
local function repair(keys, args)
  local base = keys[1]
  local step_of_scan = redis.call('SSCAN', base .. 'jobs_open', args[1], 'COUNT', args[2])
  local reply = { step_of_scan[1] }
  for _, id in ipairs(step_of_scan[2]) do
    local spec = redis.call('HMGET', base .. 'spec:' .. id, 'total', 'left')
    local total, left = tonumber(spec[1]), tonumber(spec[2])
    if total and not stuck_jobs[id] and (left <= 0 or (total > 1 and redis.call('BITCOUNT', base .. 'done:' .. id) >= total)) then
      in_step(base, id, function()
        -- The statuses of the recipients that were not counted are lost: they count as unknown.
        local counted, missing = redis.call('HMGET', base .. 'job:' .. id, 'sent', 'failed', 'unknown', 'cancelled', 'expired'), total
        for _, count in ipairs(counted) do missing = missing - (tonumber(count) or 0) end
        local open = tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0
        write('HSET', base .. 'ctl', 'left', int(open - math.max(0, left)))
        finish_by_counters(base, id, 'unknown', math.max(0, missing),
          'repaired: ' .. int(math.max(0, missing)) .. ' recipients had their result and were not counted')
        reply[#reply + 1] = id
        reply[#reply + 1] = int(math.max(0, missing))
      end)
    elseif not total then
      -- The job has no spec: only its place in the set is left.
      write('SREM', base .. 'jobs_open', id)
    end
  end
  return reply
end
