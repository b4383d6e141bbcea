-- The private copy of a SET audience, which fixes its order.

local copy
do

local COPY_RESTARTS = 5

-- Lets workers claim a job whose audience is copied completely. Part of a step.
local function finish_copy(base, id, job, now)
  write('SREM', base .. 'copying', id)
  write('HSET', base .. 'spec:' .. id, 'whole', '1')
  if job.ending then
    write('ZADD', base .. 'ending', int(now), id)
  elseif not job.paused then
    restore(base, id, job, now, { copying = false })
  end
end

-- copy: one step of copying a SET audience to a private list. `run_id`: the server's; with another one the copy starts
-- over, because a cursor belongs to one run.
-- Returns 'complete', 'gone', 'parked', or 'more' and the number `copied` so far.
function copy(base, args)
  local id, run_id, step_size = unpack(args, 1, 3)
  local spec, list, now = base .. 'spec:' .. id, base .. 'copy:' .. id, project_ms(base)
  local audience, total, cursor, run, restarts, counted = unpack(redis.call('HMGET', spec, 'audience', 'total',
    'cursor', 'run', 'restarts', 'copied'))
  if not audience or redis.call('SISMEMBER', base .. 'copying', id) == 0 then return 'gone' end
  if redis.call('TYPE', audience).ok ~= 'set' then
    park(base, id, 'audience: it is not a SET any more', now)
    return 'parked'
  end
  -- A call that an error stopped has added members that are not after the stored cursor: start over.
  if run ~= run_id or (counted and tonumber(counted) ~= redis.call('LLEN', list)) then
    redis.call('UNLINK', list)
    cursor = '0'
  end
  local next_cursor, members = unpack(redis.call('SSCAN', audience, cursor, 'COUNT', step_size))
  for i = 1, #members, 500 do redis.call('RPUSH', list, unpack(members, i, math.min(i + 499, #members))) end
  local copied = redis.call('LLEN', list)
  redis.call('HSET', spec, 'cursor', next_cursor, 'run', run_id, 'copied', int(copied))
  if next_cursor ~= '0' then return { 'outcome', 'more', 'copied', int(copied) } end
  if redis.pcall('SCARD', audience) ~= tonumber(total) then
    park(base, id, 'audience: its size changed while it was read', now)
    return 'parked'
  end
  if copied ~= tonumber(total) then
    -- The SET was resized under the scan, which then shows a member twice: start over.
    redis.call('HSET', spec, 'run', '')
    if tonumber(restarts or '0') >= COPY_RESTARTS then
      park(base, id, 'audience: the SET cannot be read in a fixed order, use a LIST', now)
      return 'parked'
    end
    redis.call('HINCRBY', spec, 'restarts', 1)
    return { 'outcome', 'more', 'copied', '0' }
  end
  in_step(base, id, finish_copy, base, id, load_spec(base, id), now)
  return 'complete'
end

end
