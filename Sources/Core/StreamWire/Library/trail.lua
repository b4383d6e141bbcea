-- What operators look up later: their own acts, events of the history, and jobs that are over.

local DAY = 24 * HOUR
-- Entries of `audit`, `marks` and `finished` that are kept, at least.
local MOST_KEPT = 1000

local add_audit, add_mark, mark_hold, list_finished, is_listed_when_over
do

-- Appends to a stream of the last MOST_KEPT events. An event that an error repeats does no harm. These lists stop no send
-- and no operator: a key of another type is left as it is.
local function append_event(key, ...)
  return redis.pcall('XADD', key, 'MAXLEN', '~', int(MOST_KEPT), '*', ...)
end

-- Appends an operator's act. `args`: those of its function, with the optional `actor` and `reason` from a place on, each
-- with its value. Called before the act's own step, or while that is decided.
function add_audit(base, action, target, args, from)
  local more = pairs_to_map(args, from)
  append_event(base .. 'audit', 'actor', string.sub(more.actor or '', 1, 200), 'action', action, 'target', target,
    'reason', string.sub(more.reason or '', 1, 1000))
end

-- Appends an event that explains the project's history. `kind`: hold, pause, resume, block, version or worker.
function add_mark(base, kind, text)
  append_event(base .. 'marks', 'kind', kind, 'text', string.sub(text, 1, 200))
  redis.pcall('XTRIM', base .. 'marks', 'MINID', '~', int(wall_ms() - DAY))
end

-- Marks the beginning of a hold of the project's sends for some milliseconds.
function mark_hold(base, ms)
  add_mark(base, 'hold', 'FCM asked to wait ' .. int(math.ceil(ms / 1000)) .. ' s')
end

-- Whether `finished` gets a job: one with more than one recipient, or with a producer's id. Without one a job has its
-- entry's id, which its member in a queue holds, padded with zeros.
function is_listed_when_over(id, spec)
  if spec.total ~= '1' then return true end
  local ms, number = string.match(spec.member or '', '^%d0*(%d+)%-0*(%d+)/')
  return ms and ms .. '-' .. number ~= id
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
