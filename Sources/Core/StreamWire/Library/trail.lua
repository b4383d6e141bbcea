-- What operators look up later: their own acts, events of the history, and jobs that are over.

local DAY = 24 * HOUR

local add_audit, add_mark, mark_job, mark_hold, mark_takeover, list_finished, has_own_id, is_listed_when_over
do

-- Entries of `audit`, `marks` and `finished` that are kept, at least.
local MOST_KEPT = 1000

-- Appends to a stream of the last MOST_KEPT events. An event that an error repeats does no harm. These lists stop no send
-- and no operator: a key of another type is left as it is.
local function append_event(key, ...)
  return redis.pcall('XADD', key, 'MAXLEN', '~', int(MOST_KEPT), '*', ...)
end

-- Appends an operator's act. `args`: its function's arguments, with the optional `actor` and `reason` from a place on,
-- each with its value. Called before the act's own step, or while that is decided.
function add_audit(base, action, target, args, from)
  local more = pairs_to_map(args, from)
  append_event(base .. 'audit', 'actor', string.sub(more.actor or '', 1, 200), 'action', action, 'target', target,
    'reason', string.sub(more.reason or '', 1, 1000))
end

-- Appends an event that explains the project's history. `kind`: hold, pause, resume, block, version, worker,
-- lost or takeover.
function add_mark(base, kind, text)
  append_event(base .. 'marks', 'kind', kind, 'text', string.sub(text, 1, 200))
  redis.pcall('XTRIM', base .. 'marks', 'MINID', '~', int(wall_ms() - DAY))
end

-- Marks an operator's pause or resume of a job. One mark counts the jobs that were changed one after the other for one
-- reason, within a minute. `kind`: pause or resume. `args`, `from`: see add_audit.
function mark_job(base, kind, id, args, from)
  local marks, why, count = base .. 'marks', string.sub(pairs_to_map(args, from).reason or '', 1, 100), 1
  local newest = redis.pcall('XRANGE', marks, int(wall_ms() - 60000), '+', 'COUNT', 100)
  if newest.err then return end
  for at, entry in ipairs(newest) do
    local name, fields = unpack(entry)
    local known = pairs_to_map(fields)
    if at == #newest and known.kind == kind and known.jobs and known.why == why then
      count = tonumber(known.jobs) + 1
      redis.pcall('XDEL', marks, name)
    end
  end
  local text = count == 1 and id or int(count) .. ' jobs, the last one ' .. id
  text = text .. ': ' .. kind .. 'd by an operator'
  if why ~= '' then text = text .. ': ' .. why end
  append_event(marks, 'kind', kind, 'text', text, 'jobs', int(count), 'why', why)
  redis.pcall('XTRIM', marks, 'MINID', '~', int(wall_ms() - DAY))
end

-- Marks the beginning of a hold of the project's sends for some milliseconds.
function mark_hold(base, ms)
  add_mark(base, 'hold', 'FCM asked to wait ' .. int(math.ceil(ms / 1000)) .. ' s')
end

-- Marks that a worker has batches of a lost one, once for the two of them in ten minutes.
function mark_takeover(base, worker, lost)
  local text = string.sub('by ' .. worker .. ' from ' .. lost, 1, 200)
  local newest = redis.pcall('XRANGE', base .. 'marks', int(wall_ms() - 600000), '+', 'COUNT', 100)
  if newest.err then return end
  for _, entry in ipairs(newest) do
    local _, fields = unpack(entry)
    if pairs_to_map(fields).text == text then return end
  end
  add_mark(base, 'takeover', text)
end

-- Whether a job has a producer's id. Without one it has its entry's id, which its member in a queue holds, padded with
-- zeros.
function has_own_id(id, spec)
  local ms, number = string.match(spec.member or '', '^%d0*(%d+)%-0*(%d+)/')
  return ms and ms .. '-' .. number ~= id
end

-- Whether `finished` gets a job: one with more than one recipient, or with a producer's id.
function is_listed_when_over(id, spec)
  return spec.total ~= '1' or has_own_id(id, spec)
end

-- Adds jobs to `finished`, and removes the oldest above MOST_KEPT. Part of a step. `jobs`: times and ids in turns.
function list_finished(base, jobs)
  if #jobs == 0 then return end
  local key = base .. 'finished'
  local size = redis.pcall('ZCARD', key)
  if type(size) ~= 'number' then return end
  local excess = size + #jobs / 2 - MOST_KEPT
  if excess > 0 then
    local oldest = redis.call('ZRANGE', key, 0, excess - 1)
    if #oldest > 0 then write('ZREM', key, unpack(oldest)) end
  end
  write('ZADD', key, unpack(jobs))
end

end
