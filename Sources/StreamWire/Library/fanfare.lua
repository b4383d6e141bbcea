#!lua name=fanfare_v1

-- Fanfare's decisions that several workers share. Version 1.
--
-- Every function takes exactly one key, the project's base `fanfare:{p}:`. What it touches is that base with a fixed
-- suffix, so all of it lives in the base's slot; which job is touched is often the function's own decision, so the
-- full names cannot be listed by the caller. The one key from elsewhere is a job's audience, which intake has checked
-- for the same hash tag.
--
-- Rules that every function keeps:
--   * all or nothing: whatever can fail is asked before the first write;
--   * called twice with the same arguments it answers the same and changes nothing more (a lost reply is repeated);
--   * decisions (hand over, retry, finish, release) carry an epoch and are refused when it is old;
--   * facts (recipient n was answered r) are set once and accepted from anyone;
--   * time that workers share is Redis TIME.
--
-- Keys behind the base:
--   jobs results feedback dead      streams, public
--   job:<id>                        hash, public: state and counters
--   seen:<id>                       string: the id is taken, for the dedupe window
--   spec:<id>                       hash: what a worker needs to run the job, and its progress; gone when it is over
--   rcpt:<id>                       hash: batch number -> recipients, one a line; an entry goes with its batch
--   copy:<id>                       list: the private copy of a SET audience
--   done:<id>                       bitmap: recipients that have their result
--   wait:<id>                       hash: recipient -> "attempts|first_ms|dup|recipient", until it has its result
--   retry                           zset: "<id>/<recipient>" by due time, Unix ms
--   singles queue                   zsets, score 0: jobs with unclaimed batches, "<9 - priority><entry id>/<id>"
--   sched                           zset: jobs held back, by not_before
--   copying                         set: jobs whose audience is being copied
--   jobs_open                       set: jobs that are not over and need no person
--   jobs_parked                     set: jobs that need a person
--   blocked                         set: jobs that are paused because the project is blocked
--   b:<id>/<n>                      hash: one claimed batch; w<recipient> marks one that was handed on to a retry
--   claims:<worker>                 set: batches that the worker holds
--   orphans                         list: batches whose worker died or gave them back
--   leases                          hash: worker -> renew counter
--   epoch                           string: the last epoch given out
--   ctl                             hash: block, block_until, hold_until

local BATCH = 1000

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function int(value)
  return string.format('%.0f', value)
end

-- Grows even when Redis came back with an older state: a rollback must not hand out an epoch twice.
local function next_epoch(base, now)
  local stored = tonumber(redis.call('GET', base .. 'epoch') or '0')
  local epoch = math.max(stored + 1, now)
  redis.call('SET', base .. 'epoch', int(epoch))
  return int(epoch)
end

local function pairs_to_map(flat)
  local map = {}
  for i = 1, #flat, 2 do map[flat[i]] = flat[i + 1] end
  return map
end

local function split_name(name)
  return string.match(name, '^(.*)/([^/]+)$')
end

-- Ends a job: its last state, its times, and nothing private left behind.
local function finish_job(base, id, now)
  local job = base .. 'job:' .. id
  local counters = redis.call('HMGET', job, 'cancelled', 'expired')
  local state = 'done'
  if (tonumber(counters[2]) or 0) > 0 then state = 'expired' end
  if (tonumber(counters[1]) or 0) > 0 then state = 'cancelled' end
  local spec = base .. 'spec:' .. id
  local keep = redis.call('HGET', spec, 'keep')
  redis.call('HSET', job, 'state', state, 'retrying', '0', 'finished_ms', int(now))
  redis.call('HSETNX', job, 'first_pass_ms', int(now))
  redis.call('HDEL', job, 'reason')
  redis.call('PEXPIRE', job, keep)
  local member = redis.call('HGET', spec, 'member')
  redis.call('ZREM', base .. 'queue', member)
  redis.call('ZREM', base .. 'singles', member)
  redis.call('SREM', base .. 'jobs_open', id)
  redis.call('SREM', base .. 'blocked', id)
  redis.call('UNLINK', spec, base .. 'rcpt:' .. id, base .. 'copy:' .. id, base .. 'done:' .. id, base .. 'wait:' .. id)
end

local function enqueue(base, id, member, total)
  local queue = total > BATCH and 'queue' or 'singles'
  redis.call('ZADD', base .. queue, 0, member)
end

-- A job that needs a person: evidence in `dead`, everything unfinished kept for a replay.
local function park(base, id, reason, now)
  local spec = pairs_to_map(redis.call('HGETALL', base .. 'spec:' .. id))
  if spec.parked then return end
  local entry = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', reason, 'kind', 'parked',
    'entry_id', spec.entry, 'at_ms', int(now), 'f.message', spec.message }
  for name, value in pairs(spec) do
    if string.sub(name, 1, 2) == 'f.' then
      entry[#entry + 1] = name
      entry[#entry + 1] = value
    end
  end
  redis.call(unpack(entry))
  redis.call('ZREM', base .. 'queue', spec.member)
  redis.call('ZREM', base .. 'singles', spec.member)
  redis.call('SMOVE', base .. 'jobs_open', base .. 'jobs_parked', id)
  redis.call('SREM', base .. 'blocked', id)
  redis.call('HSET', base .. 'spec:' .. id, 'parked', '1')
  redis.call('HSET', base .. 'job:' .. id, 'state', 'parked', 'reason', reason)
end

-- ---------------------------------------------------------------------------------------------------------------
-- register: a worker announces itself, or comes back after it was declared dead under a new name.
-- ARGV: worker. Returns {now_ms}.
local function register(keys, args)
  redis.call('HSET', keys[1] .. 'leases', args[1], '1')
  return { int(now_ms()) }
end

-- renew: keeps a worker's lease, and shows the others' counters, by which it judges them on its own clock.
-- ARGV: worker. Returns {'ok', now_ms, worker, counter, worker, counter, ...} or {'fenced'}: declared dead meanwhile.
local function renew(keys, args)
  local leases = keys[1] .. 'leases'
  if redis.call('HEXISTS', leases, args[1]) == 0 then return { 'fenced' } end
  redis.call('HINCRBY', leases, args[1], 1)
  local reply = { 'ok', int(now_ms()) }
  for _, value in ipairs(redis.call('HGETALL', leases)) do reply[#reply + 1] = value end
  return reply
end

-- bury: declares a worker dead whose counter did not move for a whole lease, and frees its batches.
-- ARGV: worker, the counter that was seen. Returns the number of batches freed, or -1 when the counter has moved.
local function bury(keys, args)
  local base = keys[1]
  if redis.call('HGET', base .. 'leases', args[1]) ~= args[2] then return -1 end
  redis.call('HDEL', base .. 'leases', args[1])
  local names = redis.call('SMEMBERS', base .. 'claims:' .. args[1])
  table.sort(names)
  for _, name in ipairs(names) do redis.call('RPUSH', base .. 'orphans', name) end
  redis.call('DEL', base .. 'claims:' .. args[1])
  return #names
end

-- reconcile: the connection was lost, and with it perhaps the answer to a claim or an intake. What is held in the
-- worker's name and unknown to it was certainly not sent by it, and goes back.
-- ARGV: worker, name of a batch it knows, ... Returns the number of batches given back.
local function reconcile(keys, args)
  local base, known, freed = keys[1], {}, 0
  for i = 2, #args do known[args[i]] = true end
  local names = redis.call('SMEMBERS', base .. 'claims:' .. args[1])
  table.sort(names)
  for _, name in ipairs(names) do
    if not known[name] then
      local batch = base .. 'b:' .. name
      -- A batch that was taken over may have been sent by the holder before.
      if redis.call('HGET', batch, 'deliveries') == '1' then redis.call('HSET', batch, 'upto', '0') end
      redis.call('SREM', base .. 'claims:' .. args[1], name)
      redis.call('RPUSH', base .. 'orphans', name)
      freed = freed + 1
    end
  end
  return freed
end

-- leave: a worker that has nothing on the wire any more gives everything back and goes.
-- ARGV: worker. Returns the number of batches given back.
local function leave(keys, args)
  local counter = redis.call('HGET', keys[1] .. 'leases', args[1])
  if not counter then return 0 end
  return bury(keys, { args[1], counter })
end

-- ---------------------------------------------------------------------------------------------------------------
-- Opens a batch for a worker: the record that carries ownership and the watermark of sends.
local function open_batch(base, id, n, worker, epoch, window, fields)
  local key = base .. 'b:' .. id .. '/' .. n
  redis.call('HSET', key, 'owner', worker, 'epoch', epoch, 'upto', window, 'deliveries', '1', unpack(fields))
  redis.call('SADD', base .. 'claims:' .. worker, id .. '/' .. n)
end

local function mark_active(base, id, now)
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'waiting' or state == 'scheduled' then
    redis.call('HSET', job, 'state', 'active', 'started_ms', int(now))
  end
end

-- Takes an entry out of `jobs`; false when another worker has handed it over already.
local function take_entry(jobs, entry)
  -- Without the group (somebody deleted it) there is nothing to acknowledge, and the entry still has to go.
  redis.pcall('XACK', jobs, 'fanfare', entry)
  return redis.call('XDEL', jobs, entry) == 1
end

local function new_job(job, state, total, now)
  redis.call('DEL', job)
  redis.call('HSET', job, 'state', state, 'total', int(total), 'sent', '0', 'failed', '0', 'unknown', '0',
    'cancelled', '0', 'expired', '0', 'retrying', '0', 'duplicates', '0', 'created_ms', int(now))
end

-- intake: hands a checked entry over: the entry leaves `jobs` in the step that writes the job.
-- ARGV: entry id, job id, own id (1/0), dedupe ms, keep ms, worker ('' = do not take), window, total (-1 = audience),
--   audience key, not_before, member, number of spec pairs, pairs..., recipients of batch 0, 1, ...
-- Returns {'gone'} (another worker did), {'duplicate'}, {'reject', reason}, {'queued'}, {'done'} (nobody to send to),
--   or {'taken', epoch} when the job is one batch and `worker` holds it now.
local function intake(keys, args)
  local base = keys[1]
  local entry, id, own = args[1], args[2], args[3] == '1'
  local jobs, job = base .. 'jobs', base .. 'job:' .. id
  local spec = base .. 'spec:' .. id
  if redis.call('EXISTS', spec) == 1 or (own and redis.call('EXISTS', base .. 'seen:' .. id) == 1) then
    if not take_entry(jobs, entry) then return { 'gone' } end
    if redis.call('EXISTS', job) == 1 then redis.call('HINCRBY', job, 'duplicates', 1) end
    return { 'duplicate' }
  end
  local total, source, audience = tonumber(args[8]), 'inline', args[9]
  if audience ~= '' then
    local kind = redis.call('TYPE', audience).ok
    if kind == 'list' then
      total, source = redis.call('LLEN', audience), 'list'
    elseif kind == 'set' then
      total, source = redis.call('SCARD', audience), 'set'
    elseif kind == 'none' then
      total = 0
    else
      return { 'reject', 'audience: the key holds a ' .. kind .. ', must be a LIST or a SET' }
    end
  end

  local now = now_ms()
  local npairs = tonumber(args[12])
  if not take_entry(jobs, entry) then return { 'gone' } end
  new_job(job, 'waiting', total, now)
  if own then redis.call('SET', base .. 'seen:' .. id, entry, 'PX', args[4]) end
  local keep = args[5]
  local member = args[11]
  redis.call('HSET', spec, 'entry', entry, 'total', int(total), 'left', int(total), 'next', '0', 'passed', '0',
    'source', source, 'audience', audience, 'keep', keep, 'member', member, 'answers', '0', 'bad', '0')
  for i = 13, 12 + 2 * npairs, 2 do redis.call('HSET', spec, args[i], args[i + 1]) end
  redis.call('SADD', base .. 'jobs_open', id)
  if total == 0 then
    finish_job(base, id, now)
    return { 'done' }
  end
  local first = 13 + 2 * npairs
  local held = tonumber(args[10]) > now
  local blocked = redis.call('HEXISTS', base .. 'ctl', 'block') == 1
  if total <= BATCH and source == 'inline' and args[6] ~= '' and not held and not blocked
    and redis.call('HEXISTS', base .. 'leases', args[6]) == 1 then
    -- One batch, and the worker that read it has room: it need not come back for its recipients.
    redis.call('HSET', spec, 'next', int(total))
    redis.call('HSET', base .. 'rcpt:' .. id, '0', args[first])
    local epoch = next_epoch(base, now)
    open_batch(base, id, '0', args[6], epoch, args[7], { 'from', '0', 'count', int(total) })
    mark_active(base, id, now)
    return { 'taken', epoch }
  end
  for i = first, #args do redis.call('HSET', base .. 'rcpt:' .. id, int(i - first), args[i]) end
  if source == 'set' then redis.call('SADD', base .. 'copying', id) end
  if held then
    redis.call('HSET', job, 'state', 'scheduled')
    redis.call('ZADD', base .. 'sched', args[10], id)
  elseif source ~= 'set' then
    enqueue(base, id, member, total)
  end
  return { 'queued' }
end

-- reject: an entry that breaks a rule goes to `dead` with its fields; its id is not remembered.
-- ARGV: entry id, job id, reason, keep ms, name, value, ... Returns {'gone'} or {'rejected'}.
local function reject(keys, args)
  local base = keys[1]
  local entry, id = args[1], args[2]
  local jobs, job = base .. 'jobs', base .. 'job:' .. id
  if not take_entry(jobs, entry) then return { 'gone' } end
  local now = now_ms()
  local dead = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', args[3], 'kind', 'rejected',
    'entry_id', entry, 'at_ms', int(now) }
  for i = 5, #args, 2 do
    dead[#dead + 1] = 'f.' .. args[i]
    dead[#dead + 1] = args[i + 1]
  end
  redis.call(unpack(dead))
  -- A rejected entry must not spoil the record of a job that runs, or ran, under the same id.
  local state = redis.call('HGET', job, 'state')
  if not state or state == 'rejected' then
    new_job(job, 'rejected', 0, now)
    redis.call('HSET', job, 'finished_ms', int(now), 'reason', args[3])
    redis.call('PEXPIRE', job, args[4])
  end
  return { 'rejected' }
end

-- ---------------------------------------------------------------------------------------------------------------
-- copy: one step of copying a SET audience to a private list, which fixes its order.
-- ARGV: job id, the server's run id, step size. Returns {'more', copied} or {'whole'} or {'gone'} or {'parked'}.
-- A cursor means nothing to another run of the server, so a copy that a restart cut short starts over.
local function copy(keys, args)
  local base, id = keys[1], args[1]
  local spec, list = base .. 'spec:' .. id, base .. 'copy:' .. id
  local now = now_ms()
  local values = redis.call('HMGET', spec, 'audience', 'total', 'cursor', 'run', 'member', 'restarts')
  if not values[1] or redis.call('SISMEMBER', base .. 'copying', id) == 0 then return { 'gone' } end
  local total = tonumber(values[2])
  if redis.call('TYPE', values[1]).ok ~= 'set' then
    redis.call('SREM', base .. 'copying', id)
    park(base, id, 'audience: it is not a SET any more', now)
    return { 'parked' }
  end
  local cursor, run = values[3], values[4]
  if run ~= args[2] then
    redis.call('UNLINK', list)
    cursor = '0'
  end
  local step = redis.call('SSCAN', values[1], cursor, 'COUNT', args[3])
  for i = 1, #step[2], 500 do redis.call('RPUSH', list, unpack(step[2], i, math.min(i + 499, #step[2]))) end
  redis.call('HSET', spec, 'cursor', step[1], 'run', args[2])
  if step[1] ~= '0' then return { 'more', int(redis.call('LLEN', list)) } end
  if redis.pcall('SCARD', values[1]) ~= total then
    redis.call('SREM', base .. 'copying', id)
    park(base, id, 'audience: its size changed while it was read', now)
    return { 'parked' }
  end
  if redis.call('LLEN', list) ~= total then
    -- The table was resized under the scan, which may show a member twice: begin again.
    redis.call('HSET', spec, 'run', '')
    if tonumber(values[6] or '0') >= 5 then
      redis.call('SREM', base .. 'copying', id)
      park(base, id, 'audience: the SET cannot be read in a fixed order, use a LIST', now)
      return { 'parked' }
    end
    redis.call('HINCRBY', spec, 'restarts', 1)
    return { 'more', '0' }
  end
  redis.call('SREM', base .. 'copying', id)
  if not redis.call('ZSCORE', base .. 'sched', id) then enqueue(base, id, values[5], total) end
  return { 'whole' }
end

-- ---------------------------------------------------------------------------------------------------------------
-- One claim as the worker receives it:
-- {id, n, epoch, 'first' | 'retry', from, upto, deliveries, abort, todo, maybe, recipients}
--   todo: positions that were certainly not sent, '' = all; maybe: positions whose fate nobody knows
--   recipients: of a first pass one a line, or a list; of a retry a list of index, "attempts|first_ms|dup|recipient"

-- Recipients of positions from..from+count-1, or nil when the audience has changed.
local function first_pass_recipients(base, id, spec, n, from, count)
  if spec.source == 'inline' then return redis.call('HGET', base .. 'rcpt:' .. id, n) or '' end
  local key = spec.source == 'list' and spec.audience or base .. 'copy:' .. id
  -- An error, after its type was changed, is no number either; raised here it would stop the project's claims.
  if redis.pcall('LLEN', key) ~= tonumber(spec.total) then return nil end
  return redis.call('LRANGE', key, from, from + count - 1)
end

local function retry_recipients(base, id, indexes)
  local list = {}
  for index in string.gmatch(indexes, '%d+') do
    local value = redis.call('HGET', base .. 'wait:' .. id, index)
    if value then
      list[#list + 1] = index
      list[#list + 1] = value
    else
      -- Already has its result; kept as a hole so that positions stay what the record says.
      list[#list + 1] = index
      list[#list + 1] = ''
    end
  end
  return list
end

local function load_spec(base, id)
  local values = redis.call('HMGET', base .. 'spec:' .. id, 'total', 'next', 'source', 'audience', 'member', 'abort', 'parked')
  if not values[1] then return nil end
  return { total = values[1], next = values[2], source = values[3], audience = values[4], member = values[5],
    abort = values[6] or '', parked = values[7] }
end

-- Takes the next batch of the first pass of a job, or nil when there is none.
local function claim_first_pass(base, id, worker, window, now)
  local spec = load_spec(base, id)
  if not spec then return nil end
  local total, from = tonumber(spec.total), tonumber(spec.next)
  if from >= total then
    redis.call('ZREM', base .. 'queue', spec.member)
    redis.call('ZREM', base .. 'singles', spec.member)
    return nil
  end
  local count = math.min(BATCH, total - from)
  local n = int(from / BATCH)
  local recipients = first_pass_recipients(base, id, spec, n, from, count)
  if not recipients then
    park(base, id, 'audience: its length changed, must stay ' .. spec.total .. ' until the job is over', now)
    return nil
  end
  redis.call('HSET', base .. 'spec:' .. id, 'next', int(from + count))
  if from + count >= total then
    redis.call('ZREM', base .. 'queue', spec.member)
    redis.call('ZREM', base .. 'singles', spec.member)
  end
  local epoch = next_epoch(base, now)
  open_batch(base, id, n, worker, epoch, window, { 'from', int(from), 'count', int(count) })
  mark_active(base, id, now)
  return { id, n, epoch, 'first', int(from), window, '1', spec.abort, '', '', recipients }, count
end

-- Takes over a batch whose worker is gone. What it may have sent and what it certainly did not are told apart by the
-- watermark, which is written before a send begins.
local function claim_orphan(base, name, worker, now)
  local key = base .. 'b:' .. name
  local batch = pairs_to_map(redis.call('HGETALL', key))
  local id, n = split_name(name)
  if not batch.owner then return nil end
  local spec = load_spec(base, id)
  if not spec then
    redis.call('DEL', key)
    return nil
  end
  if spec.parked then
    -- Stays with the parked job, and comes back with its replay.
    redis.call('SADD', base .. 'parked:' .. id, name)
    return nil
  end
  local retry = batch.indexes ~= nil
  local recipients
  if retry then
    recipients = retry_recipients(base, id, batch.indexes)
  else
    recipients = first_pass_recipients(base, id, spec, n, tonumber(batch.from), tonumber(batch.count))
    if not recipients then
      redis.call('RPUSH', base .. 'orphans', name)
      park(base, id, 'audience: its length changed, must stay ' .. spec.total .. ' until the job is over', now)
      return nil
    end
  end
  local todo, maybe, upto = {}, {}, tonumber(batch.upto)
  local count = tonumber(batch.count)
  for position = 0, count - 1 do
    local index = retry and recipients[2 * position + 1] or int(tonumber(batch.from) + position)
    if not batch['w' .. index] and redis.call('GETBIT', base .. 'done:' .. id, index) == 0 then
      local list = position < upto and maybe or todo
      list[#list + 1] = int(position)
    end
  end
  local epoch = next_epoch(base, now)
  redis.call('HSET', key, 'owner', worker, 'epoch', epoch)
  local deliveries = redis.call('HINCRBY', key, 'deliveries', 1)
  redis.call('SADD', base .. 'claims:' .. worker, name)
  local listed = #todo > 0 and table.concat(todo, ',') or '-'
  return { id, n, epoch, retry and 'retry' or 'first', batch.from or '0', batch.upto, int(deliveries), spec.abort,
    listed, table.concat(maybe, ','), recipients }, count
end

-- Gathers what is due for a retry into batches of one job each; returns how many recipients they hold.
local function claim_retries(base, limit, most, worker, window, now, claims)
  local members = redis.call('ZRANGEBYSCORE', base .. 'retry', '-inf', int(now), 'LIMIT', 0, limit)
  local order, by_job, given = {}, {}, 0
  for _, member in ipairs(members) do
    local id, index = split_name(member)
    if not by_job[id] and #order < most then
      by_job[id] = {}
      order[#order + 1] = id
    end
    local list = by_job[id]
    if list and #list < BATCH then
      redis.call('ZREM', base .. 'retry', member)
      if redis.call('HEXISTS', base .. 'wait:' .. id, index) == 1 then list[#list + 1] = index end
    end
  end
  for _, id in ipairs(order) do
    local list = by_job[id]
    local spec = load_spec(base, id)
    if spec and not spec.parked and #list > 0 then
      local epoch = next_epoch(base, now)
      local n, indexes = 'r' .. epoch, table.concat(list, ',')
      open_batch(base, id, n, worker, epoch, window, { 'indexes', indexes, 'count', int(#list) })
      given = given + #list
      claims[#claims + 1] = { id, n, epoch, 'retry', '0', window, '1', spec.abort, '', '',
        retry_recipients(base, id, indexes) }
    end
  end
  return given
end

-- The project can be sent to again: what waited for that goes on.
local function unblock(base)
  redis.call('HDEL', base .. 'ctl', 'block', 'block_until')
  for _, id in ipairs(redis.call('SMEMBERS', base .. 'blocked')) do
    local job = base .. 'job:' .. id
    if redis.call('HGET', job, 'state') == 'paused' then
      redis.call('HSET', job, 'state', redis.call('HEXISTS', job, 'first_pass_ms') == 1 and 'retrying' or 'active')
      redis.call('HDEL', job, 'reason')
    end
  end
  redis.call('DEL', base .. 'blocked')
end

-- claim: work for a worker: first what a dead worker left, then retries that are due, then jobs of one batch, then
--   fan-outs, by priority and arrival.
-- ARGV: worker, most batches, recipients wanted, window. No further batch is given once that many recipients are.
-- Returns {'fenced'} or
--   {'ok', now_ms, ms to hold every send, ms until the project's probe (0 = not blocked), reason of the block,
--    next due retry or job (Unix ms, 0 = none), a job whose audience is being copied ('' = none),
--    entries and jobs that are not over, claim, claim, ...}
local function claim(keys, args)
  local base, worker, most, wanted, window = keys[1], args[1], tonumber(args[2]), tonumber(args[3]), args[4]
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return { 'fenced' } end
  local now = now_ms()
  local ctl = redis.call('HMGET', base .. 'ctl', 'hold_until', 'block_until', 'block')
  local hold = math.max(0, (tonumber(ctl[1]) or 0) - now)
  local claims, probe = {}, 0
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'sched', '-inf', int(now), 'LIMIT', 0, 100)) do
    redis.call('ZREM', base .. 'sched', id)
    local spec = load_spec(base, id)
    if spec and not spec.parked then
      redis.call('HSET', base .. 'job:' .. id, 'state', 'waiting')
      if redis.call('SISMEMBER', base .. 'copying', id) == 0 then enqueue(base, id, spec.member, tonumber(spec.total)) end
    end
  end
  if ctl[3] then probe = math.max(1, tonumber(ctl[2]) - now) end
  if hold == 0 and most > 0 and (not ctl[3] or tonumber(ctl[2]) <= now) then
    if ctl[3] then
      -- The probe: one recipient goes out; whoever takes it moves the next probe, so there is one at a time.
      redis.call('HSET', base .. 'ctl', 'block_until', int(now + 60000))
      claim_retries(base, 1, 1, worker, '1', now, claims)
      probe = 60000
      if #claims == 0 then
        unblock(base)
        probe = 0
      end
    else
      -- Bounded: a list of orphans of jobs that are over must not hold the server.
      for _ = 1, 100 do
        if #claims >= most or wanted <= 0 then break end
        local name = redis.call('LPOP', base .. 'orphans')
        if not name then break end
        local taken, count = claim_orphan(base, name, worker, now)
        if taken then
          claims[#claims + 1] = taken
          wanted = wanted - count
        end
      end
      if #claims < most and wanted > 0 then
        wanted = wanted - claim_retries(base, math.min(BATCH, wanted), most - #claims, worker, window, now, claims)
      end
      for _, queue in ipairs({ 'singles', 'queue' }) do
        for _ = 1, 2 * most do
          if #claims >= most or wanted <= 0 then break end
          local head = redis.call('ZRANGE', base .. queue, 0, 0)[1]
          if not head then break end
          local _, id = string.match(head, '^([^/]*)/(.*)$')
          local taken, count = claim_first_pass(base, id, worker, window, now)
          if taken then
            claims[#claims + 1] = taken
            wanted = wanted - count
          else
            redis.call('ZREM', base .. queue, head)
          end
        end
      end
    end
  end
  local due = redis.call('ZRANGE', base .. 'retry', 0, 0, 'WITHSCORES')[2]
  local held = redis.call('ZRANGE', base .. 'sched', 0, 0, 'WITHSCORES')[2]
  local next_due = math.min(tonumber(due) or math.huge, tonumber(held) or math.huge)
  if next_due == math.huge then next_due = 0 end
  local copying = redis.call('SRANDMEMBER', base .. 'copying') or ''
  local unfinished = redis.call('SCARD', base .. 'jobs_open') + redis.call('XLEN', base .. 'jobs')
  local reply = { 'ok', int(now), int(hold), int(probe), ctl[3] or '', int(next_due), copying, int(unfinished) }
  for _, taken in ipairs(claims) do reply[#reply + 1] = taken end
  return reply
end

-- spec: what a worker needs to send for a job. ARGV: job id. Returns the hash, flat.
local function spec(keys, args)
  return redis.call('HGETALL', keys[1] .. 'spec:' .. args[1])
end

-- ---------------------------------------------------------------------------------------------------------------
-- record: one flush of one batch: results, feedback, retries and counters in one step.
-- ARGV: 1 job id, 2 n, 3 epoch, 4 worker, 5 watermark ('' = as it is), 6 finish (1/0), 7 late (1/0),
--   8 ms to hold every send of the project (0 = none), 9 reason of a block ('' = none),
--   10 the project answers (1), or the probe was not sent (2), or neither (0),
--   11 answers of the first pass, 12 of them 400s that do not name the recipient, 13 such an error as JSON,
--   14 number of results, 15 of retries, 16 of feedback entries, 17 number of the call within the batch, then
--   results: index, status letter (s f u c x), JSON object ('' = not wanted)
--   retries: index, due Unix ms, 1 = wait for the probe, "attempts|first_ms|dup|recipient"
--   feedback: index, kind, recipient, action, replacement, error
-- Returns {'ok', abort} (abort: the error that ends every unsent recipient, '' = none), {'stale'} (another worker
--   holds the batch: nothing was written, send the results again as late), or {'gone'} (the job is over).
local LETTERS = { s = 'sent', f = 'failed', u = 'unknown', c = 'cancelled', x = 'expired' }

local function record(keys, args)
  local base, id, n, epoch = keys[1], args[1], args[2], args[3]
  local spec_key = base .. 'spec:' .. id
  local progress = redis.call('HMGET', spec_key, 'left', 'abort', 'answers', 'total')
  local name = id .. '/' .. n
  local batch = base .. 'b:' .. name
  if not progress[1] then
    redis.call('DEL', batch)
    redis.call('SREM', base .. 'claims:' .. args[4], name)
    return { 'gone' }
  end
  local late = args[7] == '1'
  local owned = not late and redis.call('HGET', batch, 'epoch') == epoch
  if not owned and not late then
    -- A repeated call of the step that finished the batch has nothing new to say; one that was fenced may have.
    return { 'stale' }
  end
  local now = now_ms()
  local job, done, waiting = base .. 'job:' .. id, base .. 'done:' .. id, base .. 'wait:' .. id
  local had_waiting = redis.call('EXISTS', waiting) == 1
  local nresults, nretries, nfeedback = tonumber(args[14]), tonumber(args[15]), tonumber(args[16])
  local at, fresh, objects, counts, new = 18, 0, {}, {}, {}
  -- A call that is repeated because its answer was lost counts and holds nothing twice.
  local first_time = owned and tonumber(args[17]) > tonumber(redis.call('HGET', batch, 'call') or '0')
  if first_time then redis.call('HSET', batch, 'call', args[17]) end
  for _ = 1, nresults do
    local index, letter, object = args[at], args[at + 1], args[at + 2]
    at = at + 3
    if redis.call('SETBIT', done, index, 1) == 0 then
      fresh = fresh + 1
      new[index] = true
      counts[letter] = (counts[letter] or 0) + 1
      if object ~= '' then objects[#objects + 1] = object end
      if had_waiting and redis.call('HDEL', waiting, index) == 1 then
        redis.call('ZREM', base .. 'retry', id .. '/' .. index)
      end
    end
  end
  if #objects > 0 then
    redis.call('XADD', base .. 'results', '*', 'job', id, 'results', '[' .. table.concat(objects, ',') .. ']')
  end
  for letter, count in pairs(counts) do redis.call('HINCRBY', job, LETTERS[letter], count) end

  local ctl, block_until = base .. 'ctl', now + 60000
  if first_time and args[9] ~= '' then
    redis.call('HSET', ctl, 'block', args[9], 'block_until', int(block_until))
    if redis.call('HGET', job, 'state') ~= 'parked' then
      redis.call('SADD', base .. 'blocked', id)
      redis.call('HSET', job, 'state', 'paused', 'reason', args[9])
    end
  elseif first_time and args[10] == '2' and redis.call('HEXISTS', ctl, 'block') == 1 then
    redis.call('HSET', ctl, 'block_until', int(now))
  elseif first_time and args[10] == '1' and redis.call('HEXISTS', ctl, 'block') == 1 then
    unblock(base)
  end
  for _ = 1, nretries do
    local index, due, parked, value = args[at], args[at + 1], args[at + 2], args[at + 3]
    at = at + 4
    -- A schedule is a decision: only the holder's counts, and never for a recipient that has its result.
    -- The mark makes it set-once: repeated, the call must not bring a recipient back that another worker has by now.
    if owned and redis.call('GETBIT', done, index) == 0 and redis.call('HSETNX', batch, 'w' .. index, '1') == 1 then
      if parked == '1' then due = int(math.max(tonumber(due), block_until)) end
      redis.call('HSET', waiting, index, value)
      redis.call('ZADD', base .. 'retry', due, id .. '/' .. index)
      had_waiting = true
    end
  end
  for _ = 1, nfeedback do
    if new[args[at]] then
      redis.call('XADD', base .. 'feedback', '*', args[at + 1], args[at + 2], 'action', args[at + 3], 'replacement',
        args[at + 4], 'error', args[at + 5], 'job', id)
    end
    at = at + 6
  end
  if had_waiting then redis.call('HSET', job, 'retrying', int(redis.call('HLEN', waiting))) end
  if first_time and tonumber(args[8]) > 0 then
    local hold = tonumber(redis.call('HGET', ctl, 'hold_until') or '0')
    redis.call('HSET', ctl, 'hold_until', int(math.max(hold, now + tonumber(args[8]))))
  end

  -- A fan-out whose first answers say that the message itself is wrong stops before it burns the quota.
  local abort = progress[2] or ''
  local seen = tonumber(progress[3])
  if first_time and abort == '' and seen < 100 and tonumber(args[11]) > 0 and tonumber(progress[4]) > BATCH then
    seen = redis.call('HINCRBY', spec_key, 'answers', args[11])
    local bad = redis.call('HINCRBY', spec_key, 'bad', args[12])
    if args[13] ~= '' then redis.call('HSET', spec_key, 'bad_answer', args[13]) end
    if seen >= 100 and 2 * bad > seen then
      abort = redis.call('HGET', spec_key, 'bad_answer')
      redis.call('HSET', spec_key, 'abort', abort)
    end
  end

  if owned and args[5] ~= '' and tonumber(args[5]) > tonumber(redis.call('HGET', batch, 'upto')) then
    redis.call('HSET', batch, 'upto', args[5])
  end
  if owned and args[6] == '1' then
    local first = redis.call('HEXISTS', batch, 'from') == 1
    redis.call('DEL', batch)
    redis.call('SREM', base .. 'claims:' .. args[4], name)
    if first then
      redis.call('HDEL', base .. 'rcpt:' .. id, n)
      local passed = redis.call('HINCRBY', spec_key, 'passed', 1)
      if passed * BATCH >= tonumber(progress[4]) then
        redis.call('HSET', job, 'first_pass_ms', int(now))
        if redis.call('HGET', job, 'state') == 'active' then redis.call('HSET', job, 'state', 'retrying') end
      end
    end
  end
  local left = tonumber(progress[1])
  if fresh > 0 then left = redis.call('HINCRBY', spec_key, 'left', -fresh) end
  if left == 0 then
    local owner = redis.call('HGET', batch, 'owner')
    if owner then
      redis.call('DEL', batch)
      redis.call('SREM', base .. 'claims:' .. owner, name)
    end
    finish_job(base, id, now)
  end
  return { 'ok', abort }
end

-- hold: every send of the project waits. ARGV: ms. Returns the time until which, Unix ms.
local function hold(keys, args)
  local now = now_ms()
  local held = math.max(tonumber(redis.call('HGET', keys[1] .. 'ctl', 'hold_until') or '0'), now + tonumber(args[1]))
  redis.call('HSET', keys[1] .. 'ctl', 'hold_until', int(held))
  return int(held)
end

-- trim: takes old entries out of an outgoing stream, but nothing that an existing group has not acknowledged.
-- ARGV: stream's name behind the base, ms to keep. Returns the number of entries taken out.
local function before(left, right)
  local lms, lseq = string.match(left, '(%d+)-(%d+)')
  local rms, rseq = string.match(right, '(%d+)-(%d+)')
  if lms ~= rms then return tonumber(lms) < tonumber(rms) end
  return tonumber(lseq) < tonumber(rseq)
end

local function trim(keys, args)
  local stream = keys[1] .. args[1]
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local floor = int(now_ms() - tonumber(args[2])) .. '-0'
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local info = pairs_to_map(group)
    local oldest = info['last-delivered-id']
    if tonumber(info['pending']) > 0 then oldest = redis.call('XPENDING', stream, info['name'])[2] end
    if before(oldest, floor) then floor = oldest end
  end
  return redis.call('XTRIM', stream, 'MINID', floor)
end

redis.register_function{ function_name = 'fanfare_v1_register', callback = register, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_renew', callback = renew, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_reconcile', callback = reconcile, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_bury', callback = bury, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_leave', callback = leave, flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_intake', intake)
redis.register_function{ function_name = 'fanfare_v1_reject', callback = reject, flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_copy', copy)
redis.register_function('fanfare_v1_claim', claim)
redis.register_function{ function_name = 'fanfare_v1_spec', callback = spec, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v1_record', callback = record, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_hold', callback = hold, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_trim', callback = trim, flags = { 'allow-oom' } }
