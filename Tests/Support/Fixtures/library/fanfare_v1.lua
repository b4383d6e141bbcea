#!lua name=fanfare_v1

-- Fanfare's decisions that several workers share. Version 1. The files of this folder are one library: they are loaded
-- as one text, in the order base, redo, check, jobs, audience, slot, quota, leases, intake, batches, claim, settle, record,
-- repair, together, control, fleet, functions.
--
-- Every function takes exactly one key, the project's base `fanfare:{p}:`. What it touches is that base with a fixed
-- suffix, so all of it lives in the base's slot; which job is touched is often the function's own decision, so the
-- full names cannot be listed by the caller. The one key from elsewhere is a job's audience, which intake has checked
-- for the same hash tag.
--
-- Rules that every function keeps:
--   * all or nothing, although Redis has no rollback: entries of outgoing streams (results, feedback, dead, news)
--     are written first, and may be written twice; all other writes that belong together are one step, see redo.lua.
--     A write outside of a step must be harmless if the function fails just before or just after it;
--   * called twice with the same arguments it answers the same and changes nothing more (a lost reply is repeated);
--   * decisions (hand over, retry, finish, release) carry an epoch and are refused when it is old;
--   * facts (recipient n was answered r) are set once and accepted from anyone;
--   * what producers name as a time of the day (not_before, expires_at), and what people read, is Redis TIME; how long
--     something waits is measured on the project's own clock, which goes on evenly when the server's is set.
--
-- Keys behind the base:
--   jobs results feedback dead      streams, public
--   job:<id>                        hash, public: state and counters
--   unwanted                        set: entries of `jobs` that were cancelled before a worker took them
--   seen:<id>                       string: the id is taken, for the dedupe window
--   spec:<id>                       hash: what a worker needs to run the job, and its progress; gone when it is over
--   rcpt:<id>                       hash: batch number -> recipients, one a line; an entry goes with its batch
--   copy:<id>                       list: the private copy of a SET audience
--   done:<id>                       bitmap: recipients that have their result; a job of one is over with it, and has none
--   wait:<id>                       hash: recipient -> "attempts|first_ms|dup|recipient", until it has its result
--   again retry retry_many again_managed   zsets: "<id>/<recipient>" by due time: what was never sent, retries of
--                                   jobs of one batch, retries of fan-outs, all that waits of management
--   rolled:<id>                     hash: batch -> watermark, of batches that Redis forgot to have given out
--   held:<id>                       zset: the same of a job that was paused or parked
--   queue singles groups            zsets, score 0: jobs with unclaimed batches, "<9 - priority><entry id>/<id>";
--                                   queue: fan-outs that wait for the slot; groups: sends to device groups
--   managed                         zset: jobs without a message, likewise
--   active                          hash: fan-out that holds the slot -> "<epoch>|" and nothing, `?` while a
--                                   topic's send is under way, or until when FCM is busy with it
--   subscribed:<topic>              HyperLogLog: tokens that Fanfare subscribed to the topic
--   counted                         zset: topics that have a count, subscribed:<topic>, by their last use in Redis TIME
--   sched expiring                  zsets: jobs by not_before, and by expires_at, in Redis TIME
--   copying                         set: jobs whose audience is being copied
--   jobs_open                       set: jobs that are not over and need no person
--   jobs_parked                     set: jobs that need a person
--   blocked                         set: jobs that are paused because the project is blocked
--   ending                          zset: jobs whose unfinished recipients get their result without a send, by when to
--                                   look for more of them
--   restoring                       set: jobs whose held:<id> is moved back step by step
--   crashed:<id>                    hash: recipient -> how often in a row it was in a worker's hands that died
--   b:<id>/<n>                      hash: one claimed batch; w<recipient> marks one that was handed on to a retry
--   claims:<worker>                 set: batches that the worker holds
--   groups_on                       set: jobs whose group send is under way
--   orphans                         list: batches whose worker died or gave them back
--   orphans:<id>                    list: the same of a fan-out's first pass, which needs its turn
--   stopped:<id>                    list: the same of a job that may not be sent now
--   suspects                        list: batches that took their worker down three times in a row
--   redo                            hash: `steps`: steps with writes that are not all made yet; see redo.lua
--   leases                          hash: worker -> renew counter
--   links                           hash: worker -> number of its latest connection to Redis
--   news refused                    streams: what workers have to hear at once: of jobs, and of refused rates
--   rates                           hash: "<kind>:<recipient>" that FCM refused for its rate -> until when, and its pace
--   rated                           zset: the same by the time of the refusal
--   connections                     hash: worker -> XMPP connections
--   about                           hash: worker -> "<when, Redis TIME>|<what it says of itself, JSON>"
--   tally                           hash: results by status since the beginning, and `retries`
--   answers                         hash: place in a ring -> "when|answers|refused|wait until", as workers reported
--   lent                            hash: number of a half second -> permits lent in it
--   ctl                             hash: block, block_until, hold_until, pause, pressure, looked, alone, level, have, at,
--                                   owed, owed_until, debt, recovering, share, answered_at, refused_at, newest,
--                                   managed_at, connect_at, clock, lead, said, refused,
--                                   quota, left (recipients without a result), epoch (the last that was given out)
--
-- Due times are of the project's own clock.

local BATCH = 1000
local HOUR = 3600000

-- write(command, ...): calls Redis, or adds the command to the step that is being decided; see redo.lua.
local write

-- The time of the day. Set back or forward, it must not lengthen or shorten what waits: see steady_ms.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The text of a whole number. As a float it takes twice as long, so only what is too large for 64 bits is.
local function int(value)
  return string.format(value < 2 ^ 62 and '%d' or '%.0f', value)
end

-- What a call of several questions asks of `ctl`, in one read; what it changes goes back in one write, see `keep`.
local ASKED = { 'clock', 'lead', 'epoch', 'level', 'have', 'at', 'hold_until', 'owed', 'owed_until', 'block', 'pause',
  'pressure', 'alone', 'left', 'debt', 'recovering', 'share', 'answered_at', 'refused_at', 'newest' }

local function look(base)
  local values, ctl = redis.call('HMGET', base .. 'ctl', unpack(ASKED)), { changes = {} }
  for i, name in ipairs(ASKED) do ctl[name] = values[i] end
  return ctl
end

-- `value`: text, or a number, which `keep` writes with six decimals: of the jobs of one call only the last one's need be
-- made text.
local function change(ctl, name, value)
  ctl[name] = value
  ctl.changes[name] = value
end

local function keep(base, ctl)
  local call = { 'HSET', base .. 'ctl' }
  for name, value in pairs(ctl.changes) do
    call[#call + 1] = name
    call[#call + 1] = type(value) == 'number' and string.format('%.6f', value) or value
  end
  if #call > 2 then write(unpack(call)) end
end

-- A smaller difference than this is not taken for a step.
local STEP = 2000

-- The project's own clock: Redis TIME plus `lead`, which is changed by as much as the server's clock is set. That it was
-- set back shows in the latest time that was seen (`clock`). That it was set forward, and not merely nobody came by for
-- a while, shows in what the calling worker takes the time for: its clock counts from the machine's start.
-- `told`: that time; 0 from a worker that knows none yet; nil where nobody can tell: such a call changes nothing.
-- `ctl`: what the caller has read, and will keep.
-- Returns the project's time and the time of the day, of the same moment.
local function steady_ms(base, told, ctl)
  local known = ctl or look(base)
  local seen, lead = tonumber(known.clock), tonumber(known.lead or '0')
  local wall = now_ms()
  local now = wall + lead
  if not seen then seen = now end
  if now < seen - STEP then
    now = seen
  elseif now > seen + STEP then
    if not told then return seen + STEP, wall end
    local expected = math.max(seen, told)
    if told > 0 and now > expected + STEP then now = expected end
  end
  if told then
    if now ~= wall + lead then
      change(known, 'lead', int(now - wall))
      change(known, 'clock', int(now))
    elseif not known.clock or now >= seen + 250 then
      change(known, 'clock', int(now))
    end
    if not ctl then keep(base, known) end
  end
  return now, wall
end

-- Grows even when Redis came back with an older state: a rollback must not hand out an epoch twice.
-- `ctl`, `wall`: what the caller has read, and will keep, and the time of the day that it has asked for.
local function next_epoch(base, now, ctl, wall)
  local stored = tonumber((ctl and ctl.epoch or not ctl and redis.call('HGET', base .. 'ctl', 'epoch')) or '0')
  local epoch = int(math.max(stored + 1, now, wall or now_ms()))
  if ctl then
    change(ctl, 'epoch', epoch)
  else
    redis.call('HSET', base .. 'ctl', 'epoch', epoch)
  end
  return epoch
end

-- Notes a value for intake_end or record_end. `list`: see new_common; `group`: the worker that it is about, or 'all'.
local function note_for_end(common, list, group, value)
  local groups = common[list]
  if not groups then
    groups = {}
    common[list] = groups
  end
  local values = groups[group]
  if values then values[#values + 1] = value else groups[group] = { value } end
end

local function pairs_to_map(flat)
  local map = {}
  for i = 1, #flat, 2 do map[flat[i]] = flat[i + 1] end
  return map
end

-- Reads the optional arguments behind the positional ones: names, each with its value, as a map.
local function optional(args, from)
  local values = {}
  for at = from, #args - 1, 2 do values[args[at]] = args[at + 1] end
  return values
end

local function split_name(name)
  return string.match(name, '^(.*)/([^/]+)$')
end

-- Which of two stream ids comes first; '0' is before all.
local function before(left, right)
  local lms, lseq = string.match(left, '^(%d+)-?(%d*)$')
  local rms, rseq = string.match(right, '^(%d+)-?(%d*)$')
  if lms ~= rms then return tonumber(lms) < tonumber(rms) end
  return (tonumber(lseq) or 0) < (tonumber(rseq) or 0)
end

-- Tells every worker with the next call that it makes. Refused rates have a stream of their own, so that thousands of
-- them hold up no command. Both are kept for an hour, which is what a refused rate is remembered for. A stream counts
-- in Redis TIME.
local function tell_now(base, kind, name, value)
  local id = redis.call('XADD', base .. 'news', '*', 'kind', kind, 'name', name, 'value', value)
  redis.call('HSET', base .. 'ctl', 'said', id)
  redis.call('XTRIM', base .. 'news', 'MINID', '~', int(now_ms() - HOUR))
end

-- Calls that were delayed on a connection which the worker has given up are not carried out: what they take, nobody
-- would hear of, and what they give back may have been taken since. A worker counts its connections.
local function is_current(base, worker, link)
  local latest = tonumber(redis.call('HGET', base .. 'links', worker) or '0')
  link = tonumber(link) or 0
  if link > latest then redis.call('HSET', base .. 'links', worker, int(link)) end
  return link >= latest
end

local function old_link()
  return redis.error_reply('OLDLINK this worker has a later connection')
end

local function load_spec(base, id)
  local values = redis.call('HMGET', base .. 'spec:' .. id, 'total', 'next', 'source', 'audience', 'member', 'abort',
    'parked', 'paused', 'ending', 'class', 'priority', 'hold_ms', 'again')
  if not values[1] then return nil end
  return { total = values[1], next = values[2], source = values[3], audience = values[4], member = values[5],
    abort = values[6] or '', parked = values[7], paused = values[8], ending = values[9], class = values[10],
    priority = tonumber(values[11] or '5'), hold_ms = tonumber(values[12] or '0'), again = values[13] }
end

-- ---------------------------------------------------------------------------------------------------------------
-- Steps: groups of writes that are all made in the end, or none of them.
--
-- Redis has no rollback: an error in the middle of a function (a missing right, a key of another type) leaves the
-- writes before it. So a step goes through three phases:
--   1. decide: `write` collects the step's writes. Entries of outgoing streams (XADD) are written in this phase or
--      before it: an error may repeat them, and never loses them.
--   2. note: the step is stored in the key `redo`.
--   3. make: its writes are made. If one fails, the note stays, and the next call makes the whole step again first.
-- Each write of a step must be idempotent: it sets values and increments nothing.

-- State of the current function call; `redo` resets it:
local step         -- writes of the step that is being decided; nil outside of a step
local noted        -- the base, while the key `redo` holds a step of this call
local making       -- {job, writes}: the step that is being made
local made         -- how many of its writes were made
local stuck        -- list of {job, writes}: steps that failed: a key has the wrong type, or a right is missing
local stuck_jobs   -- job -> the error of its failed step; the job '' stands for the project

-- base -> when a function of the project last failed, in Redis TIME; see `may`. Kept from call to call.
local troubled = {}

-- Turns a raised value into an error reply that begins with Redis' error code, ERR if it has none.
local function refusal(raised)
  local text = tostring(type(raised) == 'table' and raised.err or raised)
  if not string.match(text, '^%u[%u_]* ') then text = 'ERR ' .. text end
  return { err = text }
end

local function note_steps(base, steps)
  redis.call('HSET', base .. 'redo', 'steps', cmsgpack.pack(steps))
end

-- Removes the note of the steps that were made; steps that failed stay noted.
local function close_steps()
  if not noted then return end
  if #stuck > 0 then note_steps(noted, stuck) else redis.call('DEL', noted .. 'redo') end
  noted = nil
end

function write(...)
  if step then
    step[#step + 1] = { ... }
    return nil
  end
  -- Delete the note first: a step that is made again would undo this later write.
  close_steps()
  return redis.call(...)
end

-- Removes the keys of one-recipient jobs that are over. `op`: {'over', base, worker, id, n, id, n, ...}. The key names
-- are built here, so that the note stays small.
local function remove_over(op)
  local base, names, ids, keys = op[2], {}, {}, {}
  for i = 4, #op, 2 do
    local id, name = op[i], op[i] .. '/' .. op[i + 1]
    names[#names + 1] = name
    ids[#ids + 1] = id
    keys[#keys + 1] = base .. 'spec:' .. id
    keys[#keys + 1] = base .. 'rcpt:' .. id
    keys[#keys + 1] = base .. 'b:' .. name
  end
  if op[3] ~= '' then redis.call('SREM', base .. 'claims:' .. op[3], unpack(names)) end
  redis.call('SREM', base .. 'jobs_open', unpack(ids))
  redis.call('UNLINK', unpack(keys))
end

local function make_writes(writes, is_again)
  made = 0
  for _, op in ipairs(writes) do
    if op[1] == 'over' then
      remove_over(op)
    elseif op[1] == 'tell' then
      tell_now(unpack(op, 2))
    else
      -- A list must not get the same batch twice.
      if is_again and op[1] == 'RPUSH' then redis.call('LREM', op[2], 0, op[3]) end
      redis.call(unpack(op))
    end
    made = made + 1
  end
end

-- The writes of a failed step from the one that failed on. The ones before it are not made again: later calls may have
-- written newer values to the same keys.
local function rest(one)
  local writes = {}
  for i = made + 1, #one[2] do writes[#writes + 1] = one[2][i] end
  return { one[1], writes }
end

-- Appends an entry to the news that every worker reads; inside a step, when the step is made.
local function tell(base, kind, name, value)
  if step then
    step[#step + 1] = { 'tell', base, kind, name, value }
  else
    tell_now(base, kind, name, value)
  end
end

local function refuse_stuck(id)
  if stuck_jobs[id] then error(stuck_jobs[id], 0) end
end

-- Notes and makes a step. `id`: its job, '' for none. `totals`: writes that the end of this call makes; they are noted
-- with the step. `on_noted`: called once the step is noted, so that it will certainly be made.
local function commit(base, id, writes, totals, on_noted)
  refuse_stuck(id)
  if #writes == 0 then return end
  if #writes == 1 and not totals and writes[1][1] ~= 'tell' then
    -- A single command is atomic and needs no note.
    write(unpack(writes[1]))
    return
  end
  local steps = {}
  for i, other in ipairs(stuck) do steps[i] = other end
  steps[#steps + 1] = { id, writes }
  if totals then steps[#steps + 1] = { '', totals } end
  note_steps(base, steps)
  noted, making = base, { id, writes }
  if on_noted then on_noted() end
  make_writes(writes)
  making = nil
end

-- Makes the totals that were noted with the steps of this call.
local function make_totals(totals)
  making = { '', totals }
  make_writes(totals)
  making = nil
end

-- Decides a step with `decide(...)`, makes it, and returns what `decide` returned.
local function in_step(base, id, decide, ...)
  refuse_stuck(id)
  step = {}
  local first, second = decide(...)
  local writes = step
  step = nil
  commit(base, id, writes)
  return first, second
end

-- Cleans up after a failed call and returns its error as a reply. A step that was partly made stays noted.
local function failed(base, raised)
  local reply = refusal(raised)
  if making then
    stuck[#stuck + 1] = rest(making)
    stuck_jobs[making[1]] = reply.err
  end
  step, making = nil, nil
  troubled[base] = now_ms()
  return reply
end

-- Makes the steps again that failed in earlier calls. Raises an error while a step of the project is stuck.
local function redo(base)
  step, noted, making, stuck, stuck_jobs = nil, nil, nil, {}, {}
  local text = redis.call('HGET', base .. 'redo', 'steps')
  if not text then return end
  local steps = cmsgpack.unpack(text)
  for _, one in ipairs(steps) do
    local is_made, raised = pcall(make_writes, one[2], true)
    if not is_made then
      stuck[#stuck + 1] = rest(one)
      stuck_jobs[one[1]] = refusal(raised).err
    end
  end
  if #stuck == 0 then
    redis.call('DEL', base .. 'redo')
  elseif cmsgpack.pack(stuck) ~= text then
    note_steps(base, stuck)
  end
  refuse_stuck('')
end

-- Wraps a function that writes: first the steps of earlier calls are made again, then the function runs. Returns the
-- reply or an error; a step that failed stays noted.
local function guarded(callback)
  return function(keys, args)
    local function run()
      redo(keys[1])
      local reply = callback(keys, args)
      close_steps()
      return reply
    end
    local is_made, reply = pcall(run)
    if is_made then return reply end
    local is_told, error_reply = pcall(failed, keys[1], reply)
    return is_told and error_reply or refusal(reply)
  end
end

-- ---------------------------------------------------------------------------------------------------------------
-- Checks of the caller's rights and of the types of the project's keys.

-- Name of each key behind the base that exists once a project -> its type. Keys of a job or a worker are not listed.
local TYPES = { jobs = 'stream', results = 'stream', feedback = 'stream', dead = 'stream', news = 'stream',
  refused = 'stream', upstream = 'stream', unwanted = 'set', copying = 'set', jobs_open = 'set', jobs_parked = 'set',
  blocked = 'set', restoring = 'set', groups_on = 'set', again = 'zset', retry = 'zset', retry_many = 'zset',
  again_managed = 'zset', queue = 'zset', singles = 'zset', groups = 'zset', managed = 'zset', sched = 'zset',
  expiring = 'zset', ending = 'zset', rated = 'zset', counted = 'zset', orphans = 'list', suspects = 'list',
  active = 'hash', answers = 'hash', lent = 'hash', leases = 'hash', links = 'hash', redo = 'hash', rates = 'hash',
  connections = 'hash', about = 'hash', tally = 'hash', ctl = 'hash' }

-- Every command that the library calls, with arguments that redis.acl_check_cmd accepts. `{}` stands for the key.
local COMMANDS = { 'BITCOUNT {}', 'DEL {}', 'EXISTS {}', 'GETBIT {} 0', 'GETRANGE {} 0 0', 'HDEL {} x', 'HEXISTS {} x',
  'HGET {} x', 'HGETALL {}', 'HKEYS {}', 'HLEN {}', 'HMGET {} x', 'HRANDFIELD {}', 'HSET {} x 1', 'HSETNX {} x 1',
  'HINCRBY {} x 1', 'HVALS {}', 'INFO', 'LLEN {}', 'LRANGE {} 0 0', 'LREM {} 0 x', 'PEXPIRE {} 1', 'PFADD {} x',
  'PFCOUNT {}', 'RPUSH {} x', 'SADD {} x', 'SCARD {}', 'SET {} x', 'SETBIT {} 0 1', 'SETRANGE {} 0 x', 'SISMEMBER {} x',
  'SMEMBERS {}', 'SRANDMEMBER {}', 'SREM {} x', 'SSCAN {} 0', 'TIME', 'TYPE {}', 'UNLINK {}', 'XACK {} x 0-0', 'XADD {} * x 1',
  'XDEL {} 0-0', 'XGROUP DELCONSUMER {} x x', 'XINFO CONSUMERS {} x', 'XINFO GROUPS {}', 'XLEN {}', 'XPENDING {} x',
  'XRANGE {} - +', 'XTRIM {} MAXLEN 1', 'ZADD {} 1 x', 'ZCARD {}', 'ZCOUNT {} 0 0', 'ZPOPMIN {}', 'ZRANGE {} 0 0',
  'ZRANGEBYSCORE {} 0 0', 'ZREM {} x', 'ZSCORE {} x' }

-- Per function: its writes to outgoing streams, which cannot be undone, and the note of its step; see `may`.
local NEEDED = {
  record = { { 'XADD {} * x 1', 'results' }, { 'XADD {} * x 1', 'feedback' }, { 'HSET {} x 1', 'redo' } },
  reject = { { 'XADD {} * x 1', 'dead' }, { 'XDEL {} 0-0', 'jobs' }, { 'HSET {} x 1', 'redo' } },
  park = { { 'XADD {} * x 1', 'dead' }, { 'HSET {} x 1', 'redo' } },
  replay = { { 'XADD {} * x 1', 'jobs' }, { 'XDEL {} 0-0', 'dead' } },
}

-- For how long after an error `may` checks, in ms.
local WARY_MS = 10000

local function may_run(command, key)
  local words = {}
  for word in string.gmatch(command, '%S+') do words[#words + 1] = word == '{}' and key or word end
  return redis.acl_check_cmd(unpack(words))
end

-- The actual type of a key when it is not `wanted`; nil when it is, or the key does not exist.
local function wrong_type(key, wanted)
  local found = redis.call('TYPE', key).ok
  return found ~= 'none' and found ~= wanted and found or nil
end

-- Raises an error if a write in NEEDED[what] would fail, before the function writes: an entry written before an error
-- would be written again by each repeated call. Checks only within WARY_MS of an error of the project, or when `always`
-- is set.
local function may(base, what, always)
  local since = troubled[base]
  if not since and not always then return end
  if since and now_ms() - since > WARY_MS then troubled[base] = nil end
  for _, need in ipairs(NEEDED[what]) do
    local command, name = need[1], need[2]
    if not may_run(command, base .. name) then
      error('NOPERM this user may not run ' .. string.match(command, '^%u+') .. ' on ' .. base .. name, 0)
    end
    local found = wrong_type(base .. name, TYPES[name])
    if found then error('WRONGTYPE ' .. base .. name .. ' is a ' .. found .. ', must be a ' .. TYPES[name], 0) end
  end
end

-- check: finds keys of the wrong type and missing rights. A worker calls it when it connects and after an error. Writes
-- nothing. Returns a flat list: 'type', key, its type, the type that it must have; or 'command', its name, a key, ''.
local function check(keys)
  local base, wrong = keys[1], {}
  for _, command in ipairs(COMMANDS) do
    if not may_run(command, base .. 'ctl') then
      local name = string.match(command, '^%u+ %u+ ') or string.match(command, '^%u+')
      for _, text in ipairs({ 'command', (string.gsub(name, ' $', '')), base .. 'ctl', '' }) do wrong[#wrong + 1] = text end
    end
  end
  local names = {}
  for name in pairs(TYPES) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local found = wrong_type(base .. name, TYPES[name])
    if found then
      for _, text in ipairs({ 'type', base .. name, found, TYPES[name] }) do wrong[#wrong + 1] = text end
    end
  end
  return wrong
end

-- ---------------------------------------------------------------------------------------------------------------
-- Jobs: how they begin, stop, go on and end.
--
-- class: `single` (one batch), `group` (a device group), `managed` (no message: subscriptions and groups), `fanout` (more
-- than one batch) or `aimed` (a topic or a condition). The last two take turns.

local QUEUES = { single = 'singles', group = 'groups', managed = 'managed', fanout = 'queue', aimed = 'queue' }

local function takes_turns(class)
  return class == 'fanout' or class == 'aimed'
end

local function enqueue(base, spec)
  write('ZADD', base .. QUEUES[spec.class], 0, spec.member)
end

local function dequeue(base, spec)
  write('ZREM', base .. QUEUES[spec.class], spec.member)
end

-- Something of the first pass is left that no worker holds; of an aimed job also a send that has to be made again.
local function has_first_pass(base, id, spec)
  return tonumber(spec.next) < tonumber(spec.total) or spec.again == '1'
    or (takes_turns(spec.class) and redis.call('LLEN', base .. 'orphans:' .. id) > 0)
end

-- Gives the slot up. A topic that FCM is busy with, or may be in a moment, keeps it until that is over.
local function release_slot(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value and string.sub(value, -1) == '|' then write('HDEL', base .. 'active', id) end
end

-- Retries are kept apart by what they cost, so that those which the budget does not allow stand in nobody's way. Those of
-- management cost no sends, and a worker has room of its own for them.
local WAITING_SENDS = { 'again', 'retry', 'retry_many' }
local WAITING = { 'again', 'retry', 'retry_many', 'again_managed' }

-- Removes a job that ends or is paused from `blocked`. If it was the last one there, the project's block ends and the
-- next send is tried.
local function release_block(base, id)
  if redis.call('SISMEMBER', base .. 'blocked', id) == 0 then return end
  local is_last = redis.call('SCARD', base .. 'blocked') == 1
  write('SREM', base .. 'blocked', id)
  if is_last then write('HDEL', base .. 'ctl', 'block', 'block_until') end
end

local function waiting_set(spec_class, value)
  if spec_class == 'managed' then return 'again_managed' end
  if string.sub(value, 1, 2) == '0|' or spec_class == 'aimed' then return 'again' end
  return spec_class == 'fanout' and 'retry_many' or 'retry'
end

local function schedule(base, id, spec_class, index, value, due)
  write('ZADD', base .. waiting_set(spec_class, value), due, id .. '/' .. index)
end

-- Removes recipients from the sets of due times.
local function unschedule(base, id, indexes)
  local members = {}
  for i, index in ipairs(indexes) do members[i] = id .. '/' .. index end
  for _, set in ipairs(WAITING) do write('ZREM', base .. set, unpack(members)) end
  write('ZREM', base .. 'held:' .. id, unpack(members))
end

-- Whether a recipient waits for its due time; false when a worker has it in a batch.
local function is_scheduled(base, id, index)
  local member = id .. '/' .. index
  for _, set in ipairs(WAITING) do
    if redis.call('ZSCORE', base .. set, member) then return true end
  end
  return redis.call('ZSCORE', base .. 'held:' .. id, member) and true or false
end

-- Moves retries of a job that goes on back among the others; a million of them must not hold the server, so it is
-- done in steps by the claims that follow.
local function unhold(base, id, spec)
  local held, moved = redis.call('ZRANGE', base .. 'held:' .. id, 0, 999, 'WITHSCORES'), {}
  for i = 1, #held, 2 do
    local _, index = split_name(held[i])
    local value = redis.call('HGET', base .. 'wait:' .. id, index)
    if value then schedule(base, id, spec.class, index, value, held[i + 1]) end
    moved[#moved + 1] = held[i]
  end
  local is_all = redis.call('ZCARD', base .. 'held:' .. id) <= #moved
  if #moved > 0 then write('ZREM', base .. 'held:' .. id, unpack(moved)) end
  write(is_all and 'SREM' or 'SADD', base .. 'restoring', id)
end

local SUSPECT = 3

-- The letter of a result in `record`, and its counter.
local LETTERS = { s = 'sent', f = 'failed', u = 'unknown', c = 'cancelled', x = 'expired' }

-- Puts a batch without a holder into the list from which it is claimed next. Part of a step.
-- `known`: values that the same step writes, and Redis does not have yet: `spec` (as it will be), `sent`, `crashes`,
-- `upto`.
local function orphan(base, name, now, known)
  known = known or {}
  local id = split_name(name)
  local batch = base .. 'b:' .. name
  local spec = known.spec or load_spec(base, id)
  if not spec then
    write('DEL', batch)
    write('SREM', base .. 'groups_on', id)
    return
  end
  local facts = redis.call('HMGET', batch, 'from', 'sent', 'crashes', 'upto')
  facts[2], facts[3], facts[4] = known.sent or facts[2], known.crashes or facts[3], known.upto or facts[4]
  -- Whoever held it decides nothing any more, also before somebody else takes it.
  write('HDEL', batch, 'epoch')
  if spec.paused or spec.parked or spec.ending then
    write('RPUSH', base .. 'stopped:' .. id, name)
    if spec.ending then write('ZADD', base .. 'ending', int(now), id) end
  elseif (tonumber(facts[3]) or 0) >= SUSPECT then
    write('RPUSH', base .. 'suspects', name)
  elseif (spec.class == 'fanout' and facts[1] and not facts[2]) or (spec.class == 'aimed' and facts[4] == '0') then
    write('RPUSH', base .. 'orphans:' .. id, name)
    -- It needs its turn, like what was never claimed. A topic's send that did not begin leaves the turn that it has.
    local turn = redis.call('HGET', base .. 'active', id)
    if not turn then
      enqueue(base, spec)
    elseif string.sub(turn, -1) == '?' then
      write('HSET', base .. 'active', id, string.sub(turn, 1, -2))
    end
  else
    write('RPUSH', base .. 'orphans', name)
  end
end

-- Makes a job claimable again: moves back its waiting retries, its stopped batches and its place in the queue. Part of
-- a step. `known`: see orphan; also `copying`: whether its audience is still being copied.
local function restore(base, id, spec, now, known)
  known = known or {}
  known.spec = spec
  unhold(base, id, spec)
  local stopped = redis.call('LRANGE', base .. 'stopped:' .. id, 0, -1)
  write('DEL', base .. 'stopped:' .. id)
  for _, name in ipairs(stopped) do orphan(base, name, now, known) end
  local copying = known.copying
  if copying == nil then copying = redis.call('SISMEMBER', base .. 'copying', id) == 1 end
  if not redis.call('ZSCORE', base .. 'sched', id) and not copying
    and has_first_pass(base, id, spec) and redis.call('HEXISTS', base .. 'active', id) == 0 then
    enqueue(base, spec)
  end
end

-- The state of a job that is neither paused nor parked nor over. `is_begun`: the same step removes it from `sched`.
local function natural_state(base, id, spec, is_begun)
  if not is_begun and redis.call('ZSCORE', base .. 'sched', id) then return 'scheduled' end
  local times = redis.call('HMGET', base .. 'job:' .. id, 'started_ms', 'first_pass_ms')
  if times[2] then return 'retrying' end
  if not times[1] then return 'waiting' end
  if takes_turns(spec.class) and redis.call('HEXISTS', base .. 'active', id) == 0 then return 'waiting' end
  return 'active'
end

-- Whether a job may be in a queue, or in a list of parked, blocked, restoring, ending or expiring jobs. Usually none of
-- these keys exists, and a single EXISTS decides.
local function is_listed(base, id, class)
  return redis.call('EXISTS', base .. QUEUES[class], base .. 'jobs_parked', base .. 'blocked', base .. 'restoring',
    base .. 'ending', base .. 'expiring', base .. 'orphans:' .. id, base .. 'stopped:' .. id) > 0
end

-- The last fields of a job's hash, as name, value pairs.
-- `known`: its cancelled, expired, first_pass_ms and reason; `counters`: further pairs.
local function final_fields(known, wall, counters)
  local state = 'done'
  if (tonumber(known[2]) or 0) > 0 then state = 'expired' end
  if (tonumber(known[1]) or 0) > 0 then state = 'cancelled' end
  return 'state', state, 'retrying', '0', 'finished_ms', wall, 'first_pass_ms', known[3] or wall, unpack(counters or {})
end

-- Ends a job: writes its last state and times, and removes its private keys. Part of a step.
-- `last`: values that the caller knows: `known` and `counters`, see final_fields; `batch`: the key of the batch that
-- ends with the job; `spec`: member, class and keep; `is_listed`: true if the same step puts the job into a list.
local function finish_job(base, id, last)
  last = last or {}
  local job, spec_key = base .. 'job:' .. id, base .. 'spec:' .. id
  local known = last.known or redis.call('HMGET', job, 'cancelled', 'expired', 'first_pass_ms', 'reason')
  local spec = last.spec or redis.call('HMGET', spec_key, 'member', 'class', 'keep')
  local class = spec[2]
  write('HSET', job, final_fields(known, int(now_ms()), last.counters))
  if known[4] then write('HDEL', job, 'reason') end
  write('PEXPIRE', job, spec[3])
  write('SREM', base .. 'jobs_open', id)
  if takes_turns(class) then
    local turn = redis.call('HGET', base .. 'active', id)
    if turn and not string.match(turn, '%d$') then write('HDEL', base .. 'active', id) end
  end
  if class == 'group' then write('SREM', base .. 'groups_on', id) end
  local orphans, stopped = base .. 'orphans:' .. id, base .. 'stopped:' .. id
  if last.is_listed or is_listed(base, id, class) then
    dequeue(base, { member = spec[1], class = class })
    -- Parked, it may be over all the same: with what a worker knew that was taken for dead.
    write('SREM', base .. 'jobs_parked', id)
    write('SREM', base .. 'blocked', id)
    write('SREM', base .. 'restoring', id)
    write('ZREM', base .. 'ending', id)
    write('ZREM', base .. 'expiring', id)
    for _, list in ipairs({ orphans, stopped }) do
      for _, name in ipairs(redis.call('LRANGE', list, 0, -1)) do write('DEL', base .. 'b:' .. name) end
    end
  end
  write('UNLINK', spec_key, base .. 'rcpt:' .. id, base .. 'copy:' .. id, base .. 'done:' .. id,
    base .. 'wait:' .. id, base .. 'held:' .. id, orphans, stopped, base .. 'rolled:' .. id, base .. 'crashed:' .. id,
    last.batch or spec_key)
end

-- Ends a job by its counters alone: `count` recipients get `status` and no result. Part of a step.
local function finish_by_counters(base, id, status, count, reason)
  local job = base .. 'job:' .. id
  local known = redis.call('HMGET', job, 'cancelled', 'expired', 'first_pass_ms', 'reason', status)
  local total = (tonumber(known[5]) or 0) + count
  if status == 'cancelled' then known[1] = total elseif status == 'expired' then known[2] = total end
  finish_job(base, id, { known = known, counters = { status, int(total) } })
  write('HSET', base .. 'tally', status, int((tonumber(redis.call('HGET', base .. 'tally', status)) or 0) + count))
  write('HSET', job, 'reason', reason)
end

-- Ends a job that is ending already and would be parked. A job whose batch takes workers down (`poison`) is closed by
-- its counters alone. Part of a step.
local function end_anyway(base, id, status, poison, now)
  write('SREM', base .. 'copying', id)
  write('ZADD', base .. 'ending', int(now), id)
  if not poison then return end
  local left = tonumber(redis.call('HGET', base .. 'spec:' .. id, 'left'))
  write('HSET', base .. 'ctl', 'left', int((tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0) - left))
  finish_by_counters(base, id, status, left, 'poison: its unfinished recipients are counted and have no result')
end

-- Parks a job that needs a person: adds the evidence to `dead`, and keeps everything unfinished for a replay.
-- A step of its own. `also`: a function that adds writes to it.
local function park(base, id, reason, now, evidence, also)
  local spec = pairs_to_map(redis.call('HGETALL', base .. 'spec:' .. id))
  if spec.parked then return end
  if spec.ending then return in_step(base, id, end_anyway, base, id, spec.ending, evidence ~= nil, now) end
  local entry = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', reason, 'kind', 'parked',
    'entry_id', spec.entry, 'at_ms', int(now_ms()) }
  for _, value in ipairs(evidence or {}) do entry[#entry + 1] = value end
  entry[#entry + 1] = 'f.message'
  entry[#entry + 1] = spec.message
  for name, value in pairs(spec) do
    if string.sub(name, 1, 2) == 'f.' then
      entry[#entry + 1] = name
      entry[#entry + 1] = value
    end
  end
  may(base, 'park')
  redis.call(unpack(entry))
  in_step(base, id, function()
    dequeue(base, spec)
    release_slot(base, id)
    if also then also() end
    write('SREM', base .. 'jobs_open', id)
    write('SADD', base .. 'jobs_parked', id)
    write('SREM', base .. 'blocked', id)
    write('SREM', base .. 'copying', id)
    write('HSET', base .. 'spec:' .. id, 'parked', '1')
    write('HSET', base .. 'job:' .. id, 'state', 'parked', 'reason', reason)
    -- Workers stop batches up to this epoch; later ones were claimed after a replay.
    tell(base, 'stop', id, next_epoch(base, now))
  end)
end

-- Ends a job before its time: workers give each unfinished recipient its result (`cancelled` or `expired`) without a
-- send, so the slot, permits and holds do not matter any more. Part of a step.
local function decide_end(base, id, status, now)
  local key, spec = base .. 'spec:' .. id, load_spec(base, id)
  if not spec or spec.ending then return end
  write('HDEL', key, 'paused', 'parked')
  write('HSET', key, 'ending', status)
  spec.paused, spec.parked = nil, nil
  write('SREM', base .. 'jobs_parked', id)
  write('SADD', base .. 'jobs_open', id)
  release_block(base, id)
  write('ZREM', base .. 'sched', id)
  write('ZREM', base .. 'expiring', id)
  write('SREM', base .. 'restoring', id)
  -- What a dead worker left of it may stand among others' that cannot go on now.
  for _, list in ipairs({ 'orphans', 'suspects' }) do
    for _, name in ipairs(redis.call('LRANGE', base .. list, 0, 19999)) do
      if split_name(name) == id then
        write('LREM', base .. list, 0, name)
        write('RPUSH', base .. 'stopped:' .. id, name)
      end
    end
  end
  dequeue(base, spec)
  release_slot(base, id)
  -- An audience that is being copied ends when the copy is whole: until then its recipients are not known.
  if redis.call('SISMEMBER', base .. 'copying', id) == 0 then write('ZADD', base .. 'ending', int(now), id) end
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'paused' or state == 'parked' then
    write('HSET', job, 'state', natural_state(base, id, spec, true))
    write('HDEL', job, 'reason')
  end
  tell(base, 'end', id, status)
end

local function end_job(base, id, status, now)
  in_step(base, id, decide_end, base, id, status, now)
end

-- ---------------------------------------------------------------------------------------------------------------
-- Estimates of topics' audiences. They decide how long a send to a topic or condition keeps the slot. A count that
-- Redis refuses is a size that is not known: it never stops the write of a job, a result or the slot.

-- How many topics of a project are counted, the most recently used ones. A HyperLogLog takes at most 12 kB.
local MOST_COUNTED = 10000

-- The longest that an estimate holds the slot.
local DAY = 24 * HOUR

-- Marks a topic's count as used. Above the limit the least recently used topic is removed.
local function touch_counted(base, topic, ...)
  local call = { 'ZADD', base .. 'counted', ... }
  call[#call + 1] = int(now_ms())
  call[#call + 1] = topic
  redis.pcall(unpack(call))
  local count = redis.pcall('ZCARD', base .. 'counted')
  if type(count) ~= 'number' or count <= MOST_COUNTED then return end
  local oldest = redis.pcall('ZPOPMIN', base .. 'counted')
  if oldest[1] then redis.pcall('UNLINK', base .. 'subscribed:' .. oldest[1]) end
end

-- Counts tokens whose subscription to a topic succeeded, each once.
-- `value`: the topic's name, a line feed, and for each token a hash of 8 bytes.
local function count_subscribed(base, value)
  local cut = string.find(value, '\n', 1, true)
  if not cut then return end
  local topic, hashes = string.sub(value, 1, cut - 1), {}
  for at = cut + 1, #value - 7, 8 do hashes[#hashes + 1] = string.sub(value, at, at + 7) end
  for i = 1, #hashes, 500 do
    local reply = redis.pcall('PFADD', base .. 'subscribed:' .. topic, unpack(hashes, i, math.min(i + 499, #hashes)))
    if type(reply) ~= 'number' then return end
  end
  if #hashes > 0 then touch_counted(base, topic) end
end

-- The size of an audience by its topics' counts; nil when one of its topics has no count.
-- `formula`: words separated by blanks, in postfix order. `#` and a number is a known size, `+` adds two sizes, `<`
-- takes the smaller of two, and any other word is a topic.
local function counted_audience(base, formula)
  local stack = {}
  for word in string.gmatch(formula, '%S+') do
    if word == '+' or word == '<' then
      local right, left = table.remove(stack), table.remove(stack)
      if not left then return nil end
      stack[#stack + 1] = word == '+' and left + right or math.min(left, right)
    elseif string.sub(word, 1, 1) == '#' then
      stack[#stack + 1] = tonumber(string.sub(word, 2)) or 0
    else
      local count = redis.pcall('PFCOUNT', base .. 'subscribed:' .. word)
      if type(count) ~= 'number' or count == 0 then return nil end
      touch_counted(base, word, 'XX')
      stack[#stack + 1] = count
    end
  end
  return #stack == 1 and stack[1] or nil
end

-- Estimates the audience of a job to a topic or a condition, and writes the estimate and its source to the job's hash.
-- Audiences that Redis counts are counted at each call: subscriptions may have been added.
-- Returns for how many ms the send keeps the slot, the source and the size; source nil if the job's worker named none.
local function estimate_audience(base, id)
  local spec = base .. 'spec:' .. id
  local values = redis.call('HMGET', spec, 'hold_ms', 'audience_source', 'audience_estimate', 'audience_formula',
    'fanout_rate')
  local hold, source, size = tonumber(values[1] or '0'), values[2], tonumber(values[3] or '0')
  if values[4] then
    local counted = counted_audience(base, values[4])
    source, size = counted and 'counted' or 'none', counted or 0
    hold = math.min(DAY, math.floor(size * 1000 / math.max(1, tonumber(values[5] or '1'))))
  end
  if source then
    write('HSET', base .. 'job:' .. id, 'audience_estimate', int(size), 'audience_source', source)
  end
  return hold, source, size
end

-- ---------------------------------------------------------------------------------------------------------------
-- The slot: one active fan-out in a project, because FCM shares a project's fan-out capacity among them. Which one is
-- a decision of whoever comes by; it is atomic, and each turn has an epoch of its own.

-- Puts the fan-out that holds the slot back into the queue, where it was. Its claimed batches are finished.
local function preempt(base, id)
  local spec = load_spec(base, id)
  if spec and has_first_pass(base, id, spec) then enqueue(base, spec) end
  if spec and redis.call('HGET', base .. 'job:' .. id, 'state') == 'active' then
    write('HSET', base .. 'job:' .. id, 'state', 'waiting')
  end
  write('HDEL', base .. 'active', id)
end

-- Two minutes on either side of a quarter of an hour FCM is busiest: with `smear` no fan-out starts then, and each
-- project has a moment of its own within the minute after.
local function is_smeared(base)
  local quarter = now_ms() % 900000
  if quarter >= 780000 then return true end
  local spread = tonumber(string.sub(redis.sha1hex(base), 1, 6), 16) % 60000
  return quarter < 120000 + spread
end

-- Frees the slot of a fan-out whose time inside FCM is over, preempts for a 9, and fills what is free.
local function fill_slot(base, now, limit, smear)
  local active = redis.call('HGETALL', base .. 'active')
  local count = 0
  for i = 1, #active, 2 do
    local ends = string.match(active[i + 1], '|(%d+)$')
    local passed = redis.call('HMGET', base .. 'spec:' .. active[i], 'passed', 'total', 'class')
    -- A first pass that is over keeps no slot, whatever else is left of the job.
    local over = passed[3] == 'fanout' and (tonumber(passed[1]) or 0) * BATCH >= tonumber(passed[2])
    if over or (ends and tonumber(ends) <= now) then
      write('HDEL', base .. 'active', active[i])
    else
      count = count + 1
    end
  end
  local skipped = 0
  for _ = 1, 100 do
    local head = redis.call('ZRANGE', base .. 'queue', skipped, skipped)[1]
    if not head then return end
    local _, id = string.match(head, '^([^/]*)/(.*)$')
    local spec = load_spec(base, id)
    if stuck_jobs[id] then
      skipped = skipped + 1
    elseif not spec or spec.paused or spec.parked or spec.ending or not has_first_pass(base, id, spec) then
      write('ZREM', base .. 'queue', head)
    else
      if smear and is_smeared(base) then return end
      if count >= limit then
        if spec.priority < 9 then return end
        local victim
        for i = 1, #active, 2 do
          local other = load_spec(base, active[i])
          -- One that runs inside FCM cannot be called back.
          if string.sub(active[i + 1], -1) == '|' and redis.call('HEXISTS', base .. 'active', active[i]) == 1
            and other and other.priority < 9 and not stuck_jobs[active[i]] then victim = active[i] end
        end
        if not victim then return end
        in_step(base, victim, preempt, base, victim)
        count = count - 1
      end
      -- If an error stops this between the two writes, the job is in both and is found again.
      write('HSET', base .. 'active', id, next_epoch(base, now) .. '|')
      write('ZREM', base .. 'queue', head)
      count = count + 1
    end
  end
end

-- A topic's or condition's send goes out: until it is known what became of it, nobody else has a turn.
local function hold_slot_for_send(base, id)
  local value = redis.call('HGET', base .. 'active', id)
  if value then write('HSET', base .. 'active', id, string.match(value, '^[^|]*') .. '|?') end
end

-- A topic or condition was sent to, or may have been: FCM is busy with it for as long as it is estimated to take.
local function hold_slot(base, id, hold_ms, now)
  local value = redis.call('HGET', base .. 'active', id)
  if not value then return end
  if hold_ms <= 0 then
    redis.call('HDEL', base .. 'active', id)
  else
    redis.call('HSET', base .. 'active', id, string.match(value, '^[^|]*') .. '|' .. int(now + hold_ms))
  end
end

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

-- ---------------------------------------------------------------------------------------------------------------
-- register: a worker announces itself, or comes back after it was declared dead under a new name.
-- ARGV: worker. Returns {now_ms, the last of the news}: what was said before does not concern it.
local function register(keys, args)
  redis.call('HINCRBY', keys[1] .. 'leases', args[1], 1)
  return { int(now_ms()), redis.call('HGET', keys[1] .. 'ctl', 'said') or '0' }
end

-- renew: keeps a worker's lease, and shows the others' counters, by which it judges them on its own clock.
-- ARGV: worker, what it says of itself (may be left out). Returns {'ok', now_ms, worker, counter, worker, counter, ...} or
-- {'fenced'}: declared dead meanwhile.
local function renew(keys, args)
  local leases, wall = keys[1] .. 'leases', int(now_ms())
  if redis.call('HEXISTS', leases, args[1]) == 0 then return { 'fenced' } end
  redis.call('HINCRBY', leases, args[1], 1)
  if args[2] then redis.call('HSET', keys[1] .. 'about', args[1], wall .. '|' .. args[2]) end
  local reply = { 'ok', wall }
  for _, value in ipairs(redis.call('HGETALL', leases)) do reply[#reply + 1] = value end
  return reply
end

-- Poison: a batch that took its worker down three times in a row, with no new result in between, is a suspect: it is
-- run alone, and if it does it again, its job needs a person. What of it becomes a retry takes the count along.
-- Returns the count that the batch has now.
local function crashed(base, name, worker, now)
  local batch = base .. 'b:' .. name
  local crashes = (tonumber(redis.call('HGET', batch, 'crashes')) or 0) + 1
  if redis.call('HEXISTS', batch, 'alone') == 0 then return crashes end
  local id, n = split_name(name)
  local function forget()
    write('HDEL', batch, 'alone', 'crashes')
    write('DEL', base .. 'crashed:' .. id)
  end
  local spec = load_spec(base, id)
  if spec and not spec.parked then
    park(base, id, 'poison: batch ' .. n .. ' took its worker down ' .. int(crashes) .. ' times in a row', now,
      { 'batch', n, 'crashes', int(crashes), 'worker', worker }, forget)
  else
    in_step(base, id, forget)
  end
  return 0
end

-- Takes a batch from a worker that is dead or leaves. Part of a step. `crashes`: its new count; nil keeps the old one.
local function free_batch(base, name, worker, now, crashes)
  local batch = base .. 'b:' .. name
  if crashes and crashes > 0 then
    if redis.call('EXISTS', batch) == 1 then write('HSET', batch, 'crashes', int(crashes)) end
  elseif not crashes then
    write('HDEL', batch, 'alone')
  end
  orphan(base, name, now, { crashes = crashes })
  write('SREM', base .. 'claims:' .. worker, name)
end

-- Frees all batches of a worker, one step for each, and then removes its lease. If an error stops it, the lease is
-- still there, and the next call frees the rest. Returns the number of batches.
local function free(base, worker, dead, now)
  local names = redis.call('SMEMBERS', base .. 'claims:' .. worker)
  table.sort(names)
  local waits = false
  for _, name in ipairs(names) do if stuck_jobs[split_name(name)] then waits = true else
    local crashes = dead and crashed(base, name, worker, now) or nil
    in_step(base, (split_name(name)), free_batch, base, name, worker, now, crashes)
  end end
  -- What is stuck stays with the worker's name, and the next call frees it.
  if waits then return #names end
  in_step(base, '', function()
    write('HDEL', base .. 'connections', worker)
    write('HDEL', base .. 'links', worker)
    write('HDEL', base .. 'about', worker)
    if redis.call('HGET', base .. 'ctl', 'alone') == worker then write('HDEL', base .. 'ctl', 'alone') end
    write('DEL', base .. 'claims:' .. worker)
    write('HDEL', base .. 'leases', worker)
  end)
  return #names
end

-- bury: declares a worker dead whose counter did not move for a whole lease, and frees its batches.
-- ARGV: worker, the counter that was seen. Returns the number of batches freed, or -1 when the counter has moved.
local function bury(keys, args)
  if redis.call('HGET', keys[1] .. 'leases', args[1]) ~= args[2] then return -1 end
  return free(keys[1], args[1], true, steady_ms(keys[1]))
end

-- leave: a worker that has nothing on the wire any more gives everything back and goes.
-- ARGV: worker. Returns the number of batches given back.
local function leave(keys, args)
  if redis.call('HEXISTS', keys[1] .. 'leases', args[1]) == 0 then return 0 end
  return free(keys[1], args[1], false, steady_ms(keys[1]))
end

-- Takes a batch from a living worker. Part of a step. `upto`: its new watermark; nil keeps the old one; `is_known`: the
-- worker has it and may have sent some of it.
local function take_back(base, name, worker, now, upto, is_known)
  local batch = base .. 'b:' .. name
  if upto then write('HSET', batch, 'upto', upto) end
  if not is_known then write('HDEL', batch, 'alone') end
  orphan(base, name, now, { upto = upto })
  write('SREM', base .. 'claims:' .. worker, name)
end

-- reconcile: a connection is new, and with the old one perhaps the answer to a claim or an intake was lost. What is held
-- in the worker's name and unknown to it was certainly not sent by it, and goes back.
-- Redis may also have come back with an older state. A batch that stands before the last call that was confirmed, or is
-- not there at all, has gone back in time: what the worker decided since is forgotten, so it is taken from it, with the
-- watermark that the worker knows; its facts come in as late ones.
-- ARGV: worker, number of its connection, 1 when Redis has lost nothing, then of each batch that the worker knows: name,
--   number of the last call that was confirmed, watermark.
-- Returns {number of batches given back, name of a batch that was taken, ...}, or the error OLDLINK.
local function reconcile(keys, args)
  local base, worker, known, freed = keys[1], args[1], {}, 0
  if not is_current(base, worker, args[2]) then return old_link() end
  local now, reply = steady_ms(base), {}
  for i = 4, #args, 3 do
    local name, call, upto = args[i], tonumber(args[i + 1]), args[i + 2]
    local batch = base .. 'b:' .. name
    local held = redis.call('HMGET', batch, 'owner', 'call', 'upto')
    known[name] = true
    if stuck_jobs[split_name(name)] then
      -- Asked again later.
    elseif held[1] == worker and tonumber(held[2] or '0') < call then
      in_step(base, (split_name(name)), take_back, base, name, worker, now,
        int(math.max(tonumber(held[3]), tonumber(upto))), true)
      reply[#reply + 1] = name
    elseif not held[1] then
      local id, n = split_name(name)
      local next_from = tonumber(redis.call('HGET', base .. 'spec:' .. id, 'next'))
      if next_from and tonumber(n) and tonumber(n) * BATCH >= next_from then
        -- Not claimed yet, as far as Redis remembers. Whoever claims it has to hear how far its sends had come.
        redis.call('HSET', base .. 'rolled:' .. id, n, upto)
        reply[#reply + 1] = name
      elseif next_from and not tonumber(n) then
        reply[#reply + 1] = name
      end
      -- Else it was finished, and only the answer was lost.
    end
  end
  local names = redis.call('SMEMBERS', base .. 'claims:' .. worker)
  table.sort(names)
  for _, name in ipairs(names) do
    if not known[name] and not stuck_jobs[split_name(name)] then
      local batch = base .. 'b:' .. name
      -- A batch that was taken over may have been sent by the holder before.
      local is_unsent = args[3] == '1' and redis.call('HGET', batch, 'deliveries') == '1'
      in_step(base, (split_name(name)), take_back, base, name, worker, now, is_unsent and '0' or nil)
      freed = freed + 1
    end
  end
  table.insert(reply, 1, int(freed))
  return reply
end

-- release: a worker gives one batch back of which nothing is on the wire; its job was paused or parked.
-- ARGV: worker, batch name, epoch, watermark ('' = as it is). Returns 1, or 0 when it was not the holder.
local function release(keys, args)
  local base = keys[1]
  local batch = base .. 'b:' .. args[2]
  local held = redis.call('HMGET', batch, 'owner', 'epoch')
  if held[1] ~= args[1] or held[2] ~= args[3]
    or redis.call('SISMEMBER', base .. 'claims:' .. args[1], args[2]) == 0 then
    return 0
  end
  in_step(base, (split_name(args[2])), take_back, base, args[2], args[1], steady_ms(base),
    args[4] ~= '' and args[4] or nil)
  return 1
end

-- ---------------------------------------------------------------------------------------------------------------
-- Ways in: an entry of `jobs` becomes a job, or goes to `dead`.

-- Sends to device groups under way at once, half of what FCM allows.
local MOST_GROUPS = 500

-- Opens a batch for a worker: the hash with its owner and watermark. No function finds it before it is in the worker's
-- claims.
local function open_batch(base, id, n, worker, epoch, window, fields)
  write('HSET', base .. 'b:' .. id .. '/' .. n, 'owner', worker, 'epoch', epoch, 'upto', window, 'deliveries', '1',
    unpack(fields))
end

local function mark_active(base, id, now)
  local job = base .. 'job:' .. id
  local state = redis.call('HGET', job, 'state')
  if state == 'waiting' or state == 'scheduled' then
    write('HSET', job, 'state', 'active')
    write('HSETNX', job, 'started_ms', int(now_ms()))
  end
end

-- Whether an entry is still in `jobs`. It leaves `jobs` last, when all that follows from it is written. If the group
-- was deleted, nothing is pending, and XRANGE still finds the entry.
-- `is_first`: no key of the entry's job exists.
local function is_in_jobs(base, entry, is_first)
  if is_first then
    local pending = redis.pcall('XPENDING', base .. 'jobs', 'fanfare', entry, entry, 1)
    if not pending.err and #pending > 0 then return true end
  end
  return #redis.call('XRANGE', base .. 'jobs', entry, entry) > 0
end

-- Deletes entries from `jobs`, then acknowledges them. If only the deletion is made, Redis drops the pending entries
-- itself.
local function take_entries(base, entries)
  write('XDEL', base .. 'jobs', unpack(entries))
  write('XACK', base .. 'jobs', 'fanfare', unpack(entries))
end

-- Whether an entry was cancelled while it stood in `jobs`.
local function is_unwanted(base, entry)
  return redis.call('SISMEMBER', base .. 'unwanted', entry) == 1
end

local function new_job(job, state, total, now, ...)
  write('HSET', job, 'state', state, 'total', int(total), 'sent', '0', 'failed', '0', 'unknown', '0',
    'cancelled', '0', 'expired', '0', 'retrying', '0', 'duplicates', '0', 'created_ms', int(now), ...)
end

-- Whether a worker is not alive, or has a later connection.
local function is_away(base, worker, link, common)
  local name = worker .. ' ' .. link
  if common.away[name] == nil then
    common.away[name] = redis.call('HEXISTS', base .. 'leases', worker) == 0 or not is_current(base, worker, link)
  end
  return common.away[name]
end

-- Whether a worker that has read a job of one batch may not have it at once; a call that nobody can take is queued like
-- any. `is_first`: nothing is known that stands before the job.
local function must_queue(base, id, args, class, common, is_first)
  local expires, ctl, now, wall = tonumber(args[11]), common.ctl, common.now, common.wall
  return ctl.block or ctl.pause or ctl.pressure or ctl.alone == args[6] or (tonumber(ctl.hold_until) or 0) > now
    or (expires > 0 and expires <= wall)
    or (class == 'group' and redis.call('SCARD', base .. 'groups_on') >= MOST_GROUPS)
    or common.is_queued or (not is_first and redis.call('EXISTS', base .. 'singles', base .. 'rolled:' .. id) > 0)
    or is_away(base, args[6], args[15], common)
end

-- Drops an entry whose job id is taken: it leaves `jobs`, and the job counts it as a duplicate.
local function note_duplicate(base, id, entry, common)
  local job = base .. 'job:' .. id
  note_for_end(common, 'entries', 'all', entry)
  if is_unwanted(base, entry) then note_for_end(common, 'wanted', 'all', entry) end
  common.duplicates = common.duplicates or {}
  local known = common.duplicates[job] or tonumber(redis.call('HGET', job, 'duplicates'))
  if known then common.duplicates[job] = known + 1 end
  return { 'duplicate' }
end

-- The type and length of an audience; nil and a reason when it is neither a LIST nor a SET.
local function measure_audience(audience)
  local kind = redis.call('TYPE', audience).ok
  if kind == 'list' then return redis.call('LLEN', audience), 'list' end
  if kind == 'set' then return redis.call('SCARD', audience), 'set' end
  if kind == 'none' then return 0, 'inline' end
  return nil, 'audience: the key holds a ' .. kind .. ', must be a LIST or a SET'
end

-- intake: hands a checked entry over: the entry leaves `jobs` in the step that lets workers see the job. Also as `intakes`.
-- `common`: see new_common.
-- ARGV: 1 entry id, 2 job id, 3 own id (1/0), 4 dedupe ms, 5 keep ms, 6 worker ('' = do not take), 7 window,
--   8 total (-1 = audience), 9 audience key, 10 not_before, 11 expires_at, 12 member, 13 class ('' = by total),
--   14 quota a minute, 15 number of the worker's connection, 16 what it takes the time for, 17 number of spec pairs,
--   pairs..., recipients of batch 0, 1, ...
-- Returns {'gone'} (another worker did), {'duplicate'}, {'reject', reason}, {'queued'} (of a topic's or
--   condition's job {'queued', source, size} of the estimate of its audience), {'done'} (no recipients),
--   or {'taken', epoch, permits} when the job is one batch and `worker` holds it now.
-- No function sees the keys that it writes before intake_end lists the job. After an error the entry is still in
-- `jobs`, and the repeated call writes the keys again.
local function intake(base, args, common)
  local entry, id, own = args[1], args[2], args[3] == '1'
  local job = base .. 'job:' .. id
  local spec, seen = base .. 'spec:' .. id, base .. 'seen:' .. id
  if common.taken[entry] then return { 'gone' } end
  -- As a rule nothing was heard of the job or its entry, and nothing waits in front of it: one question tells.
  -- Where a job of the same call has found it so, of what waits nothing need be asked again.
  local is_first
  if common.is_calm then
    is_first = redis.call('EXISTS', spec, seen, job, base .. 'rolled:' .. id) == 0
  else
    is_first = redis.call('EXISTS', spec, seen, job, base .. 'rolled:' .. id, base .. 'unwanted', base .. 'singles') == 0
    common.is_calm = is_first
  end
  if not is_in_jobs(base, entry, is_first) then return { 'gone' } end
  if not is_first then
    refuse_stuck(id)
    local from = redis.call('HGET', spec, 'entry')
    -- The spec is this entry's own if an error stopped an earlier call.
    if from ~= entry and (from or (own and redis.call('EXISTS', seen) == 1)) then
      return note_duplicate(base, id, entry, common)
    end
  end
  local total, source, audience = tonumber(args[8]), 'inline', args[9]
  if audience ~= '' then
    total, source = measure_audience(audience)
    if not total then return { 'reject', source } end
  end

  if not common.ctl then
    common.ctl = look(base)
    common.now, common.wall = steady_ms(base, tonumber(args[16]), common.ctl)
  end
  local ctl, now, wall, npairs = common.ctl, common.now, common.wall, tonumber(args[17])
  local unwanted = not is_first and is_unwanted(base, entry)
  local class, held = args[13], tonumber(args[10]) > wall
  if class == '' then class = total > BATCH and 'fanout' or 'single' end
  -- One batch, and the worker that read it has room: it need not come back for its recipients.
  local now_taken = total > 0 and source == 'inline' and args[6] ~= '' and not held and not unwanted
    and not takes_turns(class) and class ~= 'managed' and not must_queue(base, id, args, class, common, is_first)
  local _, estimated, size
  if not is_first then redis.call('UNLINK', job, spec, base .. 'rcpt:' .. id) end
  if total == 0 then
    new_job(job, 'done', 0, wall, 'finished_ms', int(wall), 'first_pass_ms', int(wall))
    redis.call('PEXPIRE', job, args[5])
    if own then common.seen[#common.seen + 1] = { 'SET', seen, entry, 'PX', args[4] } end
  else
    local first = 18 + 2 * npairs
    for i = first, #args do redis.call('HSET', base .. 'rcpt:' .. id, int(i - first), args[i]) end
    if now_taken then
      new_job(job, 'active', total, wall, 'started_ms', int(wall))
    else
      new_job(job, held and 'scheduled' or 'waiting', total, wall)
    end
    redis.call('HSET', spec, 'entry', entry, 'total', int(total), 'left', int(total), 'next',
      now_taken and int(total) or '0', 'source', source, 'keep', args[5], 'member', args[12], 'class', class,
      unpack(args, 18, 17 + 2 * npairs))
    if audience ~= '' then redis.call('HSET', spec, 'audience', audience) end
    if class == 'aimed' then _, estimated, size = estimate_audience(base, id) end
    if own then redis.call('SET', seen, entry, 'PX', args[4]) end
  end
  local reply = { total == 0 and 'done' or 'queued' }
  if now_taken then
    local epoch = next_epoch(base, now, ctl, wall)
    open_batch(base, id, '0', args[6], epoch, args[7], { 'from', '0', 'count', int(total) })
    if class == 'group' then redis.call('SADD', base .. 'groups_on', id) end
    reply = { 'taken', epoch, int(lend(base, ctl, tonumber(args[14]), now, 0, total, 0)) }
    note_for_end(common, 'claimed', args[6], id .. '/0')
  elseif total > 0 then
    common.is_calm = false
    if source == 'set' then note_for_end(common, 'copying', 'all', id) end
    if unwanted then
      redis.call('HSET', spec, 'ending', 'cancelled')
      -- A job whose audience is being copied ends when the copy is whole.
      if source ~= 'set' then note_for_end(common, 'timed', 'ending', { int(now), id }) end
    elseif held then
      note_for_end(common, 'timed', 'sched', { args[10], id })
    elseif source ~= 'set' then
      note_for_end(common, 'timed', QUEUES[class], { '0', args[12] })
      if class == 'single' then common.is_queued = true end
    end
  end
  common.taken[entry] = true
  note_for_end(common, 'entries', 'all', entry)
  if unwanted then note_for_end(common, 'wanted', 'all', entry) end
  if total > 0 then
    note_for_end(common, 'opened', 'all', id)
    if tonumber(args[11]) > 0 and not unwanted then note_for_end(common, 'timed', 'expiring', { args[11], id }) end
    change(ctl, 'left', int((tonumber(ctl.left) or 0) + total))
  end
  if estimated then return { 'queued', estimated, int(size) } end
  return reply
end

-- The step that lets workers see the jobs of one call, and takes their entries out of `jobs`.
local function intake_end(base, common)
  if not common.entries then
    if common.ctl then keep(base, common.ctl) end
    return
  end
  in_step(base, '', function()
    for worker, names in pairs(common.claimed or {}) do write('SADD', base .. 'claims:' .. worker, unpack(names)) end
    for set, members in pairs(common.timed or {}) do
      for _, one in ipairs(members) do write('ZADD', base .. set, unpack(one)) end
    end
    if common.copying then write('SADD', base .. 'copying', unpack(common.copying.all)) end
    if common.opened then write('SADD', base .. 'jobs_open', unpack(common.opened.all)) end
    for job, count in pairs(common.duplicates or {}) do write('HSET', job, 'duplicates', int(count)) end
    for _, set in ipairs(common.seen) do write(unpack(set)) end
    if common.ctl then keep(base, common.ctl) end
    if common.wanted then write('SREM', base .. 'unwanted', unpack(common.wanted.all)) end
    take_entries(base, common.entries.all)
  end)
end

-- reject: an entry that breaks a rule goes to `dead` with its fields; its id is not remembered.
-- ARGV: entry id, job id, reason, keep ms, name, value, ... Returns {'gone'} or {'rejected'}.
local function reject(keys, args)
  local base = keys[1]
  local entry, id = args[1], args[2]
  local job = base .. 'job:' .. id
  if not is_in_jobs(base, entry) then return { 'gone' } end
  -- A rejected entry must not spoil the record of a job that runs, or ran, under the same id.
  local now, state = now_ms(), redis.call('HGET', job, 'state')
  local dead = { 'XADD', base .. 'dead', '*', 'job', id, 'reason', args[3], 'kind', 'rejected',
    'entry_id', entry, 'at_ms', int(now) }
  for i = 5, #args, 2 do
    dead[#dead + 1] = 'f.' .. args[i]
    dead[#dead + 1] = args[i + 1]
  end
  may(base, 'reject')
  redis.call(unpack(dead))
  in_step(base, id, function()
    if not state or state == 'rejected' then
      write('DEL', job)
      new_job(job, 'rejected', 0, now, 'finished_ms', int(now), 'reason', args[3])
      write('PEXPIRE', job, args[4])
    end
    write('SREM', base .. 'unwanted', entry)
    take_entries(base, { entry })
  end)
  return { 'rejected' }
end

-- ---------------------------------------------------------------------------------------------------------------
-- copy: one step of copying a SET audience to a private list, which fixes its order.
-- ARGV: job id, the server's run id, step size. Returns {'more', copied} or {'whole'} or {'gone'} or {'parked'}.
-- A cursor means nothing to another run of the server, so a copy that a restart cut short starts over.
local function copy(keys, args)
  local base, id = keys[1], args[1]
  local spec, list = base .. 'spec:' .. id, base .. 'copy:' .. id
  local now = steady_ms(base)
  local values = redis.call('HMGET', spec, 'audience', 'total', 'cursor', 'run', 'member', 'restarts', 'copied')
  if not values[1] or redis.call('SISMEMBER', base .. 'copying', id) == 0 then return { 'gone' } end
  local total = tonumber(values[2])
  if redis.call('TYPE', values[1]).ok ~= 'set' then
    park(base, id, 'audience: it is not a SET any more', now)
    return { 'parked' }
  end
  local cursor, run = values[3], values[4]
  -- A call that an error stopped has added members that are not behind the stored cursor: start over.
  if run ~= args[2] or (values[7] and tonumber(values[7]) ~= redis.call('LLEN', list)) then
    redis.call('UNLINK', list)
    cursor = '0'
  end
  local page = redis.call('SSCAN', values[1], cursor, 'COUNT', args[3])
  for i = 1, #page[2], 500 do redis.call('RPUSH', list, unpack(page[2], i, math.min(i + 499, #page[2]))) end
  local copied = redis.call('LLEN', list)
  redis.call('HSET', spec, 'cursor', page[1], 'run', args[2], 'copied', int(copied))
  if page[1] ~= '0' then return { 'more', int(copied) } end
  if redis.pcall('SCARD', values[1]) ~= total then
    park(base, id, 'audience: its size changed while it was read', now)
    return { 'parked' }
  end
  if copied ~= total then
    -- The table was resized under the scan, which may show a member twice: begin again.
    redis.call('HSET', spec, 'run', '')
    if tonumber(values[6] or '0') >= 5 then
      park(base, id, 'audience: the SET cannot be read in a fixed order, use a LIST', now)
      return { 'parked' }
    end
    redis.call('HINCRBY', spec, 'restarts', 1)
    return { 'more', '0' }
  end
  local job = load_spec(base, id)
  in_step(base, id, function()
    write('SREM', base .. 'copying', id)
    write('HSET', spec, 'whole', '1')
    if job.ending then
      write('ZADD', base .. 'ending', int(now), id)
    elseif not job.paused then
      restore(base, id, job, now, { copying = false })
    end
  end)
  return { 'whole' }
end

-- ---------------------------------------------------------------------------------------------------------------
-- One claim as the worker receives it:
-- {id, n, epoch, 'first' | 'retry', from, upto, deliveries, abort, todo, maybe, recipients, ending, how}
--   todo: positions that were certainly not sent, '' = all; maybe: positions whose fate nobody knows
--   ending: 'cancelled' or 'expired' when no recipient is to be sent to; how: 1 when the worker is to hold nothing else,
--   2 for the probe of a blocked project, else 0
--   recipients: of a first pass one a line, or a list; of a retry a list of index, "attempts|first_ms|dup|recipient"

-- Recipients of positions from..from+count-1, or nil when the audience has changed.
local function first_pass_recipients(base, id, spec, n, from, count)
  if spec.source == 'inline' then return redis.call('HGET', base .. 'rcpt:' .. id, n) or '' end
  local key = spec.source == 'list' and spec.audience or base .. 'copy:' .. id
  if spec.ending then
    -- Nobody is sent to any more, so what is left of a changed audience will do; who cannot be named has a result all
    -- the same.
    local list = redis.pcall('LRANGE', key, from, from + count - 1)
    if list.err then list = {} end
    for i = #list + 1, count do list[i] = '' end
    return list
  end
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

-- Takes over a batch whose worker is gone. What it may have sent and what it certainly did not are told apart by the
-- watermark, which is written before a send begins. Part of a step.
-- `list`: the key of the list that it is in, nil for none; `batch`: its fields, if the same step writes them.
-- Returns the claim and its number of recipients; nil when it cannot be taken; nil and the spec when the audience
-- changed.
local function take_over(base, name, worker, now, list, alone, batch)
  local key = base .. 'b:' .. name
  if list then write('LREM', list, 1, name) end
  batch = batch or pairs_to_map(redis.call('HGETALL', key))
  local id, n = split_name(name)
  if not batch.owner then return nil end
  local spec = load_spec(base, id)
  if not spec then
    write('DEL', key)
    write('SREM', base .. 'groups_on', id)
    return nil
  end
  if spec.parked or spec.paused then
    -- Stays with the job, and comes back with it.
    write('RPUSH', base .. 'stopped:' .. id, name)
    return nil
  end
  local retry = batch.indexes ~= nil
  local recipients
  if retry then
    recipients = retry_recipients(base, id, batch.indexes)
  else
    recipients = first_pass_recipients(base, id, spec, n, tonumber(batch.from), tonumber(batch.count))
    if not recipients then
      write('RPUSH', base .. 'stopped:' .. id, name)
      return nil, spec
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
  local epoch, deliveries = next_epoch(base, now), int((tonumber(batch.deliveries) or 0) + 1)
  -- The new holder counts its calls from one.
  write('HDEL', key, 'call')
  write('HSET', key, 'owner', worker, 'epoch', epoch, 'deliveries', deliveries)
  if alone then write('HSET', key, 'alone', '1') end
  write('SADD', base .. 'claims:' .. worker, name)
  if not spec.ending then
    mark_active(base, id, now)
    if spec.class == 'aimed' and list == base .. 'orphans:' .. id then hold_slot_for_send(base, id) end
  end
  local listed = #todo > 0 and table.concat(todo, ',') or '-'
  return { id, n, epoch, retry and 'retry' or 'first', batch.from or '0', batch.upto, deliveries, spec.abort,
    listed, table.concat(maybe, ','), recipients, spec.ending or '', alone and '1' or '0' }, count
end

local CHANGED = 'audience: its length changed, must stay '

-- Claims the first batch of a list of orphans. Returns false when the list is empty, nil when the batch cannot be
-- taken, or the claim and its number of recipients.
local function claim_orphan(base, list, worker, now, alone)
  local name
  for _, one in ipairs(redis.call('LRANGE', list, 0, next(stuck_jobs) and 99 or 0)) do
    if not name and not stuck_jobs[split_name(one)] then name = one end
  end
  if not name then return false end
  local id = split_name(name)
  local taken, count = in_step(base, id, take_over, base, name, worker, now, list, alone)
  if not taken and count then park(base, id, CHANGED .. count.total .. ' until the job is over', now) end
  return taken, taken and count
end

-- Opens a batch of a job's first pass for a worker. Part of a step. Returns the claim and its number of recipients.
local function open_first_pass(base, id, spec, n, worker, window, now, from, count, recipients)
  write('HSET', base .. 'spec:' .. id, 'next', int(from + count))
  local rolled = redis.call('HGET', base .. 'rolled:' .. id, n)
  if rolled then
    -- Redis came back with an older state: this batch had been given out, and some of it was sent.
    local batch = { owner = worker, upto = rolled, deliveries = '1', from = int(from), count = int(count) }
    write('HDEL', base .. 'rolled:' .. id, n)
    write('HSET', base .. 'b:' .. id .. '/' .. n, 'upto', rolled, 'from', batch.from, 'count', batch.count)
    return take_over(base, id .. '/' .. n, worker, now, nil, nil, batch)
  end
  local epoch = next_epoch(base, now)
  open_batch(base, id, n, worker, epoch, window, { 'from', int(from), 'count', int(count) })
  write('SADD', base .. 'claims:' .. worker, id .. '/' .. n)
  if not spec.ending then
    mark_active(base, id, now)
    if spec.class == 'aimed' then hold_slot_for_send(base, id) end
    if spec.class == 'group' then write('SADD', base .. 'groups_on', id) end
  end
  return { id, n, epoch, 'first', int(from), window, '1', spec.abort, '', '', recipients, spec.ending or '', '0' }, count
end

-- Claims the next batch of a job's first pass; nil when there is none. `queue`, `head`: a zset and the member that the
-- same step removes from it; nil for none.
local function claim_first_pass(base, id, spec, worker, window, now, queue, head)
  local total, from = tonumber(spec.total), tonumber(spec.next)
  if from >= total then return nil end
  local count = math.min(BATCH, total - from)
  local n = int(from / BATCH)
  local recipients = first_pass_recipients(base, id, spec, n, from, count)
  if not recipients then
    park(base, id, CHANGED .. spec.total .. ' until the job is over', now)
    return nil
  end
  return in_step(base, id, function()
    if queue then write('ZREM', queue, head) end
    return open_first_pass(base, id, spec, n, worker, window, now, from, count, recipients)
  end)
end

-- Opens a batch of waiting recipients of one job. Part of a step. Returns the claim; nil when a recipient was in three
-- crashed batches in a row: then the batch goes to `suspects` and is run alone, later.
local function open_retry(base, id, spec, list, worker, window, now, how)
  local epoch = next_epoch(base, now)
  local n, indexes, most = 'r' .. epoch, table.concat(list, ','), 0
  local name = id .. '/' .. n
  if redis.call('EXISTS', base .. 'crashed:' .. id) == 1 then
    for _, count in ipairs(redis.call('HMGET', base .. 'crashed:' .. id, unpack(list))) do
      most = math.max(most, tonumber(count) or 0)
    end
  end
  write('HSET', base .. 'b:' .. name, 'owner', worker, 'epoch', epoch, 'upto', most >= SUSPECT and '0' or window,
    'deliveries', '1', 'indexes', indexes, 'count', int(#list))
  if most > 0 then write('HSET', base .. 'b:' .. name, 'crashes', int(most)) end
  if spec.class == 'group' and not spec.ending then write('SADD', base .. 'groups_on', id) end
  if most >= SUSPECT then
    write('RPUSH', base .. 'suspects', name)
    return nil
  end
  write('SADD', base .. 'claims:' .. worker, name)
  return { id, n, epoch, 'retry', '0', window, '1', spec.abort, '', '', retry_recipients(base, id, indexes),
    spec.ending or '', how or '0' }
end

-- Gathers what is due of one of the waiting sets into batches of one job each; returns how many recipients they hold.
local function claim_retries(base, set, limit, most, worker, window, now, claims, how)
  local due = redis.call('ZRANGEBYSCORE', base .. set, '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, limit)
  local order, by_job, specs, given = {}, {}, {}, 0
  for i = 1, #due, 2 do
    local member = due[i]
    local id, index = split_name(member)
    if not specs[id] then specs[id] = load_spec(base, id) or { gone = true } end
    local spec = specs[id]
    if spec.gone or redis.call('HEXISTS', base .. 'wait:' .. id, index) == 0 then
      write('ZREM', base .. set, member)
    elseif stuck_jobs[id] then
      -- Behind the others, which need not wait for it.
      write('ZADD', base .. set, int(now + 1000), member)
    elseif spec.paused or spec.parked then
      write('ZADD', base .. 'held:' .. id, due[i + 1], member)
      write('ZREM', base .. set, member)
    elseif spec.class == 'aimed' and not spec.ending then
      -- Sent again it starts a fan-out again: it takes its turn.
      in_step(base, id, function()
        write('ZREM', base .. set, member)
        write('HSET', base .. 'spec:' .. id, 'again', '1')
        enqueue(base, spec)
      end)
    elseif spec.class == 'group' and not by_job[id]
      and redis.call('SCARD', base .. 'groups_on') + #order >= MOST_GROUPS then
      write('ZADD', base .. set, int(now + 250), member)
    else
      if not by_job[id] and #order < most then
        by_job[id] = {}
        order[#order + 1] = id
      end
      local list = by_job[id]
      if list and #list < BATCH then list[#list + 1] = index end
    end
  end
  for _, id in ipairs(order) do
    given = given + #by_job[id]
    claims[#claims + 1] = in_step(base, id, function()
      local members = {}
      for i, index in ipairs(by_job[id]) do members[i] = id .. '/' .. index end
      write('ZREM', base .. set, unpack(members))
      return open_retry(base, id, specs[id], by_job[id], worker, window, now, how)
    end)
  end
  return given
end

-- A topic or condition that has to be sent again, and has the slot.
local function claim_again(base, id, spec, worker, window, now)
  local taken = in_step(base, id, function()
    write('HDEL', base .. 'spec:' .. id, 'again')
    if not redis.call('HGET', base .. 'wait:' .. id, '0') then return nil end
    local retry = open_retry(base, id, spec, { '0' }, worker, window, now)
    if retry then hold_slot_for_send(base, id) end
    return retry
  end)
  return taken, taken and 1
end

-- A batch of a job that is ending: what was orphaned, then what was never claimed, then what waits for a retry.
local function claim_ending(base, id, worker, window, now)
  local spec = load_spec(base, id)
  if not spec then
    write('ZREM', base .. 'ending', id)
    return nil
  end
  for _, list in ipairs({ 'stopped:', 'orphans:' }) do
    local taken, count = claim_orphan(base, base .. list .. id, worker, now)
    if taken ~= false then return taken, count end
  end
  if tonumber(spec.next) < tonumber(spec.total) then return claim_first_pass(base, id, spec, worker, window, now) end
  local list = {}
  for _, index in ipairs(redis.call('HRANDFIELD', base .. 'wait:' .. id, BATCH) or {}) do
    -- What is not there is in a worker's hands, which ends it itself.
    if is_scheduled(base, id, index) then list[#list + 1] = index end
  end
  local again = #list == 0 and spec.again == '1'
  if #list == 0 and not again then return nil end
  local taken = in_step(base, id, function()
    if again then
      write('HDEL', base .. 'spec:' .. id, 'again')
      list[1] = '0'
    else
      unschedule(base, id, list)
    end
    return open_retry(base, id, spec, list, worker, window, now)
  end)
  return taken, taken and #list
end

-- ---------------------------------------------------------------------------------------------------------------
-- claim, and what is asked on the way.

-- The functions that other files call. All others are local to this block: Lua allows 200 locals in the whole library.
local unblock, pressure, claim, spec
do

-- The project can be sent to again: what waited for that goes on.
function unblock(base)
  for _, id in ipairs(redis.call('SMEMBERS', base .. 'blocked')) do
    local job = base .. 'job:' .. id
    local spec = load_spec(base, id)
    if spec and not spec.paused and redis.call('HGET', job, 'state') == 'paused' then
      write('HSET', job, 'state', natural_state(base, id, spec))
      write('HDEL', job, 'reason')
    end
  end
  write('DEL', base .. 'blocked')
  write('HDEL', base .. 'ctl', 'block', 'block_until')
end

-- Why no worker may take on more of this project: its readers are too far behind, or Redis' memory is nearly full.
-- Looked at five times a second; what stopped it has to fall to four fifths before it goes on.
function pressure(base, limit, now)
  local ctl = redis.call('HMGET', base .. 'ctl', 'looked', 'pressure')
  local looked, was = tonumber(ctl[1]) or 0, ctl[2]
  if now >= looked and now < looked + 200 then return was or '' end
  local why = ''
  local info = redis.call('INFO', 'memory')
  local most = tonumber(string.match(info, '\nmaxmemory:(%d+)')) or 0
  local used = tonumber(string.match(info, '\nused_memory:(%d+)')) or 0
  if most > 0 and used > most * (was == 'memory' and 0.75 or 0.8) then why = 'memory' end
  -- Any other policy may drop what everything here rests on.
  if (string.match(info, '\nmaxmemory_policy:([%w-]+)') or 'noeviction') ~= 'noeviction' then why = 'eviction' end
  for _, stream in ipairs({ 'results', 'feedback', 'dead', 'upstream' }) do
    if redis.call('EXISTS', base .. stream) == 1 then
      for _, group in ipairs(redis.call('XINFO', 'GROUPS', base .. stream)) do
        local map = pairs_to_map(group)
        -- The lag is unknown after entries were deleted: then all that is there counts.
        local behind = map['pending'] + (tonumber(map['lag'] or nil) or redis.call('XLEN', base .. stream))
        if behind > limit * (was == stream and 0.8 or 1) then why = stream end
      end
    end
  end
  redis.call('HSET', base .. 'ctl', 'looked', int(now))
  if why == '' then
    redis.call('HDEL', base .. 'ctl', 'pressure')
  else
    redis.call('HSET', base .. 'ctl', 'pressure', why)
  end
  return why
end

-- `order`: what one claim may still give, and what it gave. `claims` grows to at most `most` batches; `wanted`,
-- `wanted_single`, `wanted_managed` and the `budget` of retries go down with what they hold.

-- Of one of the waiting sets what is due; returns how many recipients that was.
local function claim_waiting(order, set, limit)
  return claim_retries(order.base, set, limit, order.most - #order.claims, order.worker, order.window, order.now,
    order.claims)
end

-- Jobs whose time has come: to end, or to begin.
local function follow_the_time(base, now, wall)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'expiring', '-inf', int(wall), 'LIMIT', 0, 100)) do
    if not stuck_jobs[id] then
      end_job(base, id, 'expired', now)
      write('ZREM', base .. 'expiring', id)
    end
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', base .. 'sched', '-inf', int(wall), 'LIMIT', 0, 100)) do
    local spec = load_spec(base, id)
    if not stuck_jobs[id] then in_step(base, id, function()
      write('ZREM', base .. 'sched', id)
      if spec and not spec.parked and not spec.paused and not spec.ending then
        write('HSET', base .. 'job:' .. id, 'state', 'waiting')
        if redis.call('SISMEMBER', base .. 'copying', id) == 0 then enqueue(base, spec) end
      end
    end) end
  end
end

-- Ending asks for nothing but room. A job whose last recipients are in others' hands is looked at again later.
local function claim_endings(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  local due = redis.call('ZRANGEBYSCORE', base .. 'ending', '-inf', int(now), 'LIMIT', 0, math.min(order.most, 8))
  for _, id in ipairs(due) do
    if #order.claims >= order.most or order.wanted_single + order.wanted <= 0 then break end
    local taken, count
    if not stuck_jobs[id] then taken, count = claim_ending(base, id, worker, window, now) end
    if taken then
      order.claims[#order.claims + 1] = taken
      order.wanted = order.wanted - count
    elseif redis.call('EXISTS', base .. 'spec:' .. id) == 1 then
      write('ZADD', base .. 'ending', int(now + 500), id)
    end
  end
end

-- A step of what a job that goes on gets back.
local function restore_one(base)
  local id = redis.call('SRANDMEMBER', base .. 'restoring')
  if id and not stuck_jobs[id] then
    local spec = load_spec(base, id)
    if spec and not spec.paused and not spec.parked then
      in_step(base, id, unhold, base, id, spec)
    else
      write('SREM', base .. 'restoring', id)
    end
  end
end

-- A suspect is run by a worker that holds nothing else; until it does, that worker is given nothing. Returns its name.
local function choose_alone(base, worker, alone)
  if alone and redis.call('HEXISTS', base .. 'leases', alone) == 0 then alone = nil end
  if redis.call('LLEN', base .. 'suspects') > 0 then
    if not alone then
      alone = worker
      redis.call('HSET', base .. 'ctl', 'alone', worker)
    end
  elseif alone == worker and redis.call('SCARD', base .. 'claims:' .. worker) == 0 then
    redis.call('HDEL', base .. 'ctl', 'alone')
    alone = nil
  end
  return alone
end

-- Claims the probe of a blocked project: one send. Its claim moves the next probe by 60 s, so there is one at a time.
-- Operations go to other APIs than sends: the block does not hold them, and none is a probe.
-- Returns the ms until the next one, 0 when nothing is left to probe with.
local function claim_probe(order)
  local base, worker, now = order.base, order.worker, order.now
  local before = #order.claims
  for _, set in ipairs(WAITING_SENDS) do
    for _ = 1, 20 do
      if #order.claims > before or redis.call('ZCOUNT', base .. set, '-inf', int(now)) == 0 then break end
      claim_retries(base, set, 1, 1, worker, '1', now, order.claims, '2')
    end
  end
  if #order.claims > before then
    write('HSET', base .. 'ctl', 'block_until', int(now + 60000))
    return 60000
  end
  unblock(base)
  return 0
end

-- Bounded: a list of orphans of jobs that are over must not hold the server.
local function claim_orphans(order)
  local base, worker, now = order.base, order.worker, order.now
  for _ = 1, 100 do
    if #order.claims >= order.most or order.wanted_single + order.wanted <= 0 then break end
    local taken, count = claim_orphan(base, base .. 'orphans', worker, now)
    if taken == false then break end
    if taken then
      order.claims[#order.claims + 1] = taken
      order.wanted = order.wanted - count
    end
  end
end

-- What was never sent is no retry, and the budget of those is for single recipients first.
local function claim_due(order)
  if #order.claims < order.most and order.wanted_single > 0 then
    local limit = math.min(BATCH, order.wanted_single)
    order.wanted_single = order.wanted_single - claim_waiting(order, 'again', limit)
  end
  if #order.claims < order.most and order.wanted_single > 0 and order.budget > 0 then
    -- The retry budget counts requests. Where recipients share a request, a claim has about as many requests as jobs.
    local limit, claims = math.min(BATCH, order.wanted_single, order.shares_requests and BATCH or order.budget), #order.claims
    local given = claim_waiting(order, 'retry', limit)
    order.budget = order.budget - (order.shares_requests and #order.claims - claims or given)
    order.wanted_single = order.wanted_single - given
  end
  if #order.claims < order.most and order.wanted > 0 and order.budget > 0 then
    local limit = math.min(BATCH, order.wanted, order.shares_requests and BATCH or order.budget)
    order.wanted = order.wanted - claim_waiting(order, 'retry_many', limit)
  end
end

-- Jobs of one batch, and sends to device groups.
local function claim_queues(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  for _, queue in ipairs({ 'singles', 'groups' }) do
    local skipped = 0
    for _ = 1, 2 * order.most do
      if #order.claims >= order.most or order.wanted_single <= 0 then break end
      if queue == 'groups' and redis.call('SCARD', base .. 'groups_on') >= MOST_GROUPS then break end
      local head = redis.call('ZRANGE', base .. queue, skipped, skipped)[1]
      if not head then break end
      local _, id = string.match(head, '^([^/]*)/(.*)$')
      local spec = load_spec(base, id)
      local taken, count
      if not stuck_jobs[id] and spec and not spec.paused and not spec.parked and not spec.ending then
        taken, count = claim_first_pass(base, id, spec, worker, window, now, base .. queue, head)
      end
      if stuck_jobs[id] then
        skipped = skipped + 1
      elseif taken then
        order.claims[#order.claims + 1] = taken
        order.wanted_single = order.wanted_single - count
      else
        write('ZREM', base .. queue, head)
      end
    end
  end
end

-- Jobs without a message: what waits first.
local function claim_managed(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  if #order.claims < order.most and order.wanted_managed > 0 then
    local limit = math.min(BATCH, order.wanted_managed)
    local given = claim_waiting(order, 'again_managed', limit)
    order.wanted_managed = order.wanted_managed - given
  end
  for _, head in ipairs(redis.call('ZRANGE', base .. 'managed', 0, 2 * order.most)) do
    local _, id = string.match(head, '^([^/]*)/(.*)$')
    while not stuck_jobs[id] and #order.claims < order.most and order.wanted_managed > 0 do
      local spec = load_spec(base, id)
      local taken, count
      if spec and not spec.paused and not spec.parked and not spec.ending then
        taken, count = claim_first_pass(base, id, spec, worker, window, now)
      end
      if not taken then
        write('ZREM', base .. 'managed', head)
        break
      end
      order.claims[#order.claims + 1] = taken
      order.wanted_managed = order.wanted_managed - count
    end
  end
end

-- The fan-outs that have their turn.
local function claim_active(order)
  local base, worker, window, now = order.base, order.worker, order.window, order.now
  for _, id in ipairs(redis.call('HKEYS', base .. 'active')) do
    for _ = 1, order.most do
      if #order.claims >= order.most or order.wanted <= 0 then break end
      local spec = load_spec(base, id)
      if stuck_jobs[id] or not spec or spec.paused or spec.parked or spec.ending then break end
      local taken, count = claim_orphan(base, base .. 'orphans:' .. id, worker, now)
      if taken == false then
        if spec.again == '1' then
          taken, count = claim_again(base, id, spec, worker, window, now)
        else
          taken, count = claim_first_pass(base, id, spec, worker, window, now)
        end
        if not taken then break end
      end
      if taken then
        order.claims[#order.claims + 1] = taken
        order.wanted = order.wanted - count
      end
    end
  end
end

-- When something waits for a worker to come by; 0 when nothing does.
local function next_due_ms(base, now, wall)
  local next_due = math.huge
  for _, set in ipairs(WAITING) do
    next_due = math.min(next_due, tonumber(redis.call('ZRANGE', base .. set, 0, 0, 'WITHSCORES')[2]) or math.huge)
  end
  local scheduled = tonumber(redis.call('ZRANGE', base .. 'sched', 0, 0, 'WITHSCORES')[2])
  if scheduled then next_due = math.min(next_due, scheduled + now - wall) end
  if redis.call('ZCARD', base .. 'queue') > 0 then
    -- Somebody waits for the slot: the moment at which FCM is done with a topic is worth coming back for.
    for _, value in ipairs(redis.call('HVALS', base .. 'active')) do
      next_due = math.min(next_due, tonumber(string.match(value, '|(%d+)$')) or math.huge)
    end
  end
  return next_due == math.huge and 0 or next_due
end

-- What was said since the worker heard last. `cursors`: the last that it heard of jobs, and of refused rates; moved on.
local function hear(base, cursors)
  local news = {}
  local said = redis.call('HMGET', base .. 'ctl', 'said', 'refused')
  for i, stream in ipairs({ 'news', 'refused' }) do
    if said[i] and said[i] ~= cursors[i] then
      -- What was heard last is beyond what was said last: Redis came back with an older state. What was said since then
      -- has lower numbers, and to hear the rest twice does no harm.
      if before(said[i], cursors[i]) then cursors[i] = '0' end
      for _, event in ipairs(redis.call('XRANGE', base .. stream, '(' .. cursors[i], '+', 'COUNT', 500)) do
        cursors[i] = event[1]
        local map = pairs_to_map(event[2])
        -- Of an earlier job under the same name nobody needs to hear that it ended.
        local progress = map.kind == 'end' and redis.call('HMGET', base .. 'spec:' .. map.name, 'total', 'ending')
        if not progress or progress[2] or not progress[1] then
          news[#news + 1] = map.kind or 'rate'
          news[#news + 1] = map.name
          news[#news + 1] = map.value
        end
      end
    end
  end
  return news
end

-- claim: what a worker asks for every few milliseconds: work, permits to send, and news.
--   Work comes in this order: jobs that are ending, what dead workers left, retries that are due, jobs of one batch,
--   and the fan-out that has its turn.
-- ARGV: 1 worker, 2 most batches, 3 recipients wanted of fan-outs, 4 of others, 5 window,
--   6 retries of recipients that were sent before, 7 quota a minute, 8 permits given back, 9 permits wanted for single
--   recipients, 10 for fan-outs, 11 fan-outs that may be active, 12 smear (1/0), 13 backlog limit, 14 the last that was
--   heard of jobs, 15 and of refused rates, 16 recipients wanted of management, 17 number of the worker's connection,
--   18 what it takes the time for (0 = unknown), then optional names, each with its value:
--   answers, refused, told, span   see hear_answers
--   unit   recipients of the fan-out's next multicast, which cannot be divided (0 = there is none)
-- No further batch is given once that many recipients are.
-- Returns {'fenced'}, the error OLDLINK, or
--   {'ok', the project's time, ms to hold every send, ms until the project's probe (0 = not blocked), reason of the block,
--    next due retry, job or end of a topic's turn (0 = none), a job whose audience is being copied ('' = none),
--    entries and jobs that are not over, permits lent, reason of a pause ('' = none), what presses ('' = nothing),
--    what was last said of jobs, and of refused rates, {kind, name, value, ...}, the project's time less Redis TIME,
--    claim, claim, ...}
function claim(keys, args)
  local base, worker, most, window = keys[1], args[1], tonumber(args[2]), args[5]
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return { 'fenced' } end
  if not is_current(base, worker, args[17]) then return old_link() end
  local now, wall = steady_ms(base, tonumber(args[18]))
  local more, state, claims = optional(args, 19), look(base), {}
  hear_answers(base, state, now, more)
  local order = { base = base, worker = worker, window = window, now = now, most = most, claims = claims,
    wanted = tonumber(args[3]), wanted_single = tonumber(args[4]), wanted_managed = tonumber(args[16]),
    budget = tonumber(args[6]), shares_requests = more.unit ~= nil }
  follow_the_time(base, now, wall)
  local ctl = redis.call('HMGET', base .. 'ctl', 'hold_until', 'block_until', 'block', 'pause', 'alone', 'quota')
  if ctl[6] ~= args[7] then redis.call('HSET', base .. 'ctl', 'quota', args[7]) end
  local hold_ms, probe = math.max(0, (tonumber(state.hold_until) or 0) - now), 0
  local pause = ctl[4] or ''
  local press = pressure(base, tonumber(args[13]), now)

  if most > 0 then
    claim_endings(order)
    restore_one(base)
  end

  local smear = args[12] == '1'
  fill_slot(base, now, tonumber(args[11]), smear)

  local alone = choose_alone(base, worker, ctl[5])

  if ctl[3] then probe = math.max(1, tonumber(ctl[2]) - now) end
  local may_send = hold_ms == 0 and pause == '' and press == '' and most > 0
  if may_send and alone == worker then
    if not ctl[3] and redis.call('SCARD', base .. 'claims:' .. worker) == 0 then
      local taken = claim_orphan(base, base .. 'suspects', worker, now, true)
      if taken then claims[#claims + 1] = taken end
    end
  elseif may_send and ctl[3] then
    if tonumber(ctl[2]) <= now then probe = claim_probe(order) end
    claim_managed(order)
  elseif may_send then
    claim_orphans(order)
    claim_due(order)
    claim_queues(order)
    claim_managed(order)
    claim_active(order)
  end

  local waits_alone = alone == worker and redis.call('SCARD', base .. 'claims:' .. worker) == 0
  local stopped = pause ~= '' or press ~= '' or waits_alone
  local permits = lend(base, state, tonumber(args[7]), now, tonumber(args[8]), stopped and 0 or tonumber(args[9]),
    stopped and 0 or tonumber(args[10]), tonumber(more.unit) and (stopped and 0 or tonumber(more.unit)))
  keep(base, state)

  local copying = redis.call('SRANDMEMBER', base .. 'copying') or ''
  local unfinished = redis.call('SCARD', base .. 'jobs_open') + redis.call('XLEN', base .. 'jobs')
  local cursors = { args[14], args[15] }
  local news = hear(base, cursors)
  if more.answers then
    -- A worker that counts answers finds out here when a worker of an older version has loaded its own text again.
    for _, word in ipairs({ 'library', '', '2' }) do news[#news + 1] = word end
  end
  local reply = { 'ok', int(now), int(hold_ms), int(probe), ctl[3] or '', int(next_due_ms(base, now, wall)), copying,
    int(unfinished), int(permits), pause, press, cursors[1], cursors[2], news, int(now - wall) }
  for _, taken in ipairs(claims) do reply[#reply + 1] = taken end
  return reply
end

-- spec: what a worker needs to send for a job. ARGV: job id. Returns the hash, flat.
function spec(keys, args)
  return redis.call('HGETALL', keys[1] .. 'spec:' .. args[1])
end

end

-- Whether a value of wait:<id> has 0 attempts: the recipient was never sent, so its send is no retry.
local function is_unsent(value)
  return value and string.sub(value, 1, 2) == '0|'
end

local BITS = { [0] = 128, 64, 32, 16, 8, 4, 2, 1 }

-- Looks up in done:<id> which of these recipients have their result. Returns how many have none, a map of the positions
-- that have one (nil when none has), and the writes that set the missing bits. A batch's bits are neighbours, so they
-- are read and written as one range.
local function read_marks(done, indexes)
  local low, high = indexes[1], indexes[1]
  for i = 2, #indexes do
    local index = indexes[i]
    if index < low then low = index elseif index > high then high = index end
  end
  -- Few bits, or bits far apart, are set one by one.
  local in_one = #indexes >= 4 and high - low <= 4 * BATCH
  local first, last, bytes, writes, seen = math.floor(low / 8), math.floor(high / 8), nil, {}, {}
  if in_one then
    bytes = { string.byte(redis.call('GETRANGE', done, int(first), int(last)), 1, -1) }
    for at = #bytes + 1, last - first + 1 do bytes[at] = 0 end
  end
  local fresh, old = 0, nil
  for i = 1, #indexes do
    local index, is_new = indexes[i], nil
    if in_one then
      local at, bit_value = math.floor(index / 8) - first + 1, BITS[index % 8]
      is_new = bytes[at] % (2 * bit_value) < bit_value
      if is_new then bytes[at] = bytes[at] + bit_value end
    else
      is_new = not seen[index] and redis.call('GETBIT', done, int(index)) == 0
      seen[index] = true
      if is_new then writes[#writes + 1] = { 'SETBIT', done, int(index), '1' } end
    end
    if is_new then
      fresh = fresh + 1
    else
      old = old or {}
      old[i] = true
    end
  end
  if in_one and fresh > 0 then writes[1] = { 'SETRANGE', done, int(first), string.char(unpack(bytes)) } end
  return fresh, old, writes
end

-- The objects of the new results, as the text of a JSON array. Quotes inside a string are escaped, so `,{"i":` is
-- always the beginning of an object.
local function new_objects(text, letters, old)
  local list, from = {}, 2
  for i = 1, #letters do
    if string.find(letters, '^%u', i) then
      local behind = string.find(text, ',{"i":', from, true) or #text
      if not old[i] then list[#list + 1] = string.sub(text, from, behind - 1) end
      from = behind + 1
    end
  end
  return #list > 0 and '[' .. table.concat(list, ',') .. ']' or ''
end

-- Which results are new. Returns fresh, counts (status letter -> new results), old, marks; see read_marks for the
-- others.
local function look_up_results(base, id, total, indexes, letters)
  local counts, fresh, old, marks = {}, 0, nil, {}
  -- A one-recipient job is deleted when its result is written; if its spec exists, it has no result.
  if #indexes > 0 and total == 1 then fresh = 1 end
  if #indexes > 0 and total > 1 then fresh, old, marks = read_marks(base .. 'done:' .. id, indexes) end
  for i = 1, #indexes do
    if not (old and old[i]) then
      local letter = string.lower(string.sub(letters, i, i))
      counts[letter] = (counts[letter] or 0) + 1
    end
  end
  return fresh, counts, old, marks
end

-- Adds the new entries of `results` and `feedback`. `args`: of record; `at`: where its feedback begins. Returns the
-- index behind the feedback.
local function send_out(base, id, args, indexes, old, at)
  local objects, count = args[16], tonumber(args[18])
  if old then objects = new_objects(objects, args[15], old) end
  if objects == '' and count == 0 then return at end
  may(base, 'record')
  if objects ~= '' then redis.call('XADD', base .. 'results', '*', 'job', id, 'results', objects) end
  if count == 0 then return at end
  local new = {}
  for i, index in ipairs(indexes) do
    if not (old and old[i]) then new[int(index)] = true end
  end
  for _ = 1, count do
    if new[args[at]] then
      redis.call('XADD', base .. 'feedback', '*', args[at + 1], args[at + 2], 'action', args[at + 3], 'replacement',
        args[at + 4], 'error', args[at + 5], 'job', id)
    end
    at = at + 6
  end
  return at
end

-- Removes recipients that have their result from wait:<id>. Part of a step. Returns how many were in it, and how many
-- of these were never sent.
local function stop_waiting(base, id, indexes)
  local waiting, names, present, unsent = base .. 'wait:' .. id, {}, {}, 0
  for i = 1, #indexes do names[i] = int(indexes[i]) end
  for i, value in ipairs(redis.call('HMGET', waiting, unpack(names))) do
    if value then
      present[#present + 1] = names[i]
      if is_unsent(value) then unsent = unsent + 1 end
    end
  end
  if #present > 0 then
    write('HDEL', waiting, unpack(present))
    unschedule(base, id, present)
  end
  return #present, unsent
end

-- Sets how long a topic or condition keeps the slot after its send was answered: for the estimate if FCM may run it,
-- else 0.
local function turn_of_aimed(base, id, may_run, now)
  hold_slot(base, id, may_run and estimate_audience(base, id) or 0, now)
end

-- Schedules the retries of a flush. Part of a step. `flush`: of record; `at`: where the retries begin in `args`.
-- Returns the number of recipients that were sent before, the growth of wait:<id>, and the growth of the never sent in
-- it.
local function schedule_retries(base, id, flush, args, at)
  local count, retried, grown, unsent = tonumber(args[17]), 0, 0, 0
  if count == 0 or not flush.owned then return 0, 0, 0 end
  local waiting, names, marks = base .. 'wait:' .. id, {}, {}
  for i = 1, count do
    names[i] = args[at + 4 * (i - 1)]
    marks[i] = 'w' .. names[i]
  end
  local handed_on, known = redis.call('HMGET', flush.batch, unpack(marks)), redis.call('HMGET', waiting, unpack(names))
  local wait, crashed, due_in = {}, {}, {}
  for i, index in ipairs(names) do
    local due, parked, value = args[at + 1], args[at + 2], args[at + 3]
    at = at + 4
    -- A retry is a decision: only the holder's counts, and never for a recipient that has its result.
    -- The mark w<recipient> makes it set-once: a repeated call must not schedule a recipient that another worker has by
    -- now.
    if not handed_on[i] and not flush.retried[index] and redis.call('GETBIT', base .. 'done:' .. id, index) == 0 then
      flush.retried[index] = true
      if parked == '1' then due = int(math.max(tonumber(due), flush.now() + 60000)) end
      if is_unsent(known[i]) then unsent = unsent - 1 end
      if is_unsent(value) then unsent = unsent + 1 else retried = retried + 1 end
      if not known[i] then grown = grown + 1 end
      flush.fields[#flush.fields + 1] = marks[i]
      flush.fields[#flush.fields + 1] = '1'
      wait[#wait + 1] = index
      wait[#wait + 1] = value
      local set = waiting_set(flush.class, value)
      due_in[set] = due_in[set] or { 'ZADD', base .. set }
      local list = due_in[set]
      list[#list + 1], list[#list + 2] = due, id .. '/' .. index
      if flush.crashes then
        crashed[#crashed + 1] = index
        crashed[#crashed + 1] = flush.crashes
      end
      if flush.class == 'aimed' then turn_of_aimed(base, id, string.match(value, '^%d+|%d+|1'), flush.now()) end
    end
  end
  if #wait > 0 then write('HSET', waiting, unpack(wait)) end
  for _, list in pairs(due_in) do write(unpack(list)) end
  if #crashed > 0 then write('HSET', base .. 'crashed:' .. id, unpack(crashed)) end
  if #wait > 0 and flush.ending then write('ZADD', base .. 'ending', int(flush.now()), id) end
  return retried, grown, unsent
end

-- Whether every recipient of a batch has its result or waits for a retry once this flush is written. The bits of a
-- first pass of 1,000 are 125 bytes of done:<id>, so usually a single BITCOUNT decides.
local function is_accounted(base, id, flush)
  local facts, done = redis.call('HMGET', flush.batch, 'from', 'count', 'indexes'), base .. 'done:' .. id
  local new = {}
  for i, index in ipairs(flush.indexes) do
    if not (flush.old and flush.old[i]) then new[int(index)] = true end
  end
  if facts[3] then
    for index in string.gmatch(facts[3], '%d+') do
      if not new[index] and not flush.retried[index] and redis.call('GETBIT', done, index) == 0
        and redis.call('HEXISTS', flush.batch, 'w' .. index) == 0 then return false end
    end
    return true
  end
  local from, count = tonumber(facts[1]), tonumber(facts[2])
  local first, last = math.floor(from / 8), math.floor((from + count - 1) / 8)
  local known = redis.call('BITCOUNT', done, int(first), int(last))
  for index in pairs(new) do
    local byte = math.floor(tonumber(index) / 8)
    if byte >= first and byte <= last then known = known + 1 end
  end
  for index in pairs(flush.retried) do
    if not new[index] then known = known + 1 end
  end
  if known >= count then return true end
  for _, field in ipairs(redis.call('HKEYS', flush.batch)) do
    local index = string.match(field, '^w(%d+)$')
    if index and not new[index] and redis.call('GETBIT', done, index) == 0 then known = known + 1 end
  end
  return known >= count
end

-- The functions that other files call. All others are local to this block: Lua allows 200 locals in the whole library.
local record, record_end
do

-- Status letters in the order of a job's counters; see LETTERS.
local COUNTERS = { 's', 'f', 'u', 'c', 'x' }

-- Reads the project's counters. `changed`: names of the counters that this call changes; none yet.
local function read_totals(base)
  local names = { 'sent', 'failed', 'unknown', 'cancelled', 'expired', 'retries' }
  local totals = { left = tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0, changed = {} }
  for i, value in ipairs(redis.call('HMGET', base .. 'tally', unpack(names))) do
    totals[names[i]] = tonumber(value) or 0
  end
  return totals
end

-- Returns a copy of the totals with these results and retries added. It replaces the old one when its step is noted.
local function add_totals(totals, counts, retried, fresh)
  local sum = { changed = {} }
  for name, value in pairs(totals) do
    if name ~= 'changed' then sum[name] = value end
  end
  for name in pairs(totals.changed) do sum.changed[name] = true end
  local function add(name, amount)
    if amount ~= 0 then
      sum[name] = sum[name] + amount
      sum.changed[name] = true
    end
  end
  for letter, amount in pairs(counts) do add(LETTERS[letter], amount) end
  add('retries', retried)
  add('left', -fresh)
  return sum
end

local function writes_of_totals(base, totals)
  local tally, writes = { 'HSET', base .. 'tally' }, {}
  for name in pairs(totals.changed) do
    if name ~= 'left' then
      tally[#tally + 1] = name
      tally[#tally + 1] = int(totals[name])
    end
  end
  if #tally > 2 then writes[1] = tally end
  if totals.changed.left then writes[#writes + 1] = { 'HSET', base .. 'ctl', 'left', int(totals.left) } end
  return writes
end

-- Makes a step together with the change of the project's totals that belongs to it.
local function commit_counted(base, id, writes, common, counts, retried, fresh)
  if fresh == 0 and retried == 0 then return commit(base, id, writes, common.totals and common.totals.writes) end
  local sum = add_totals(common.totals or read_totals(base), counts, retried, fresh)
  sum.writes = writes_of_totals(base, sum)
  commit(base, id, writes, sum.writes, function() common.totals = sum end)
end

-- Ends a one-recipient job with its result. Only its spec, recipient and batch are left: record_end removes those of
-- all such jobs of the call.
local function end_single(base, id, n, owner, progress, known, letter, common)
  local job, status = base .. 'job:' .. id, LETTERS[letter]
  common.ended_at = common.ended_at or int(now_ms())
  redis.call('HSET', job, final_fields({ status == 'cancelled' and 1, status == 'expired' and 1, known[6] },
    common.ended_at, { status, '1' }))
  if known[7] then redis.call('HDEL', job, 'reason') end
  redis.call('PEXPIRE', job, progress[11])
  if progress[5] == 'group' then redis.call('SREM', base .. 'groups_on', id) end
  common.over_ids[id] = true
  note_for_end(common, 'over', owner, id)
  note_for_end(common, 'over', owner, n)
  common.over_counts[letter] = (common.over_counts[letter] or 0) + 1
end

-- Answers a flush of a job without a spec: it is over, or Redis came back with a state in which it was not handed over
-- yet.
local function record_of_none(base, id, n, worker, is_late)
  local name = id .. '/' .. n
  write('DEL', base .. 'b:' .. name)
  write('SREM', base .. 'claims:' .. worker, name)
  write('SREM', base .. 'groups_on', id)
  if is_late and redis.call('EXISTS', base .. 'job:' .. id) == 0 then
    -- The worker that takes its entry must treat its recipients as possibly sent.
    write('HSET', base .. 'rolled:' .. id, n, int(BATCH))
    write('PEXPIRE', base .. 'rolled:' .. id, HOUR)
  end
  return { 'gone' }
end

-- Blocks the project, has it probed again at once, or ends its block. Part of a step. `known`: see decide_flush.
local function change_block(base, id, args, flush, known, progress)
  local ctl = base .. 'ctl'
  -- Workers of an older version ask for a block when the API of an operation refuses it ('HTTP 404 …'). That is
  -- ignored: sends go to another API. A credential that the token endpoint refuses ('HTTP 400: …') concerns sends, too.
  local blocks = args[9] ~= '' and not (progress[5] == 'managed' and string.match(args[9], '^HTTP %d+ '))
  if blocks then
    write('HSET', ctl, 'block', args[9], 'block_until', int(flush.now() + 60000))
    if known[8] ~= 'parked' and not progress[6] then
      write('SADD', base .. 'blocked', id)
      write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', args[9])
      known[7], known[8], flush.is_listed = args[9], 'paused', true
    end
  elseif args[10] == '2' and redis.call('HEXISTS', ctl, 'block') == 1 then
    write('HSET', ctl, 'block_until', int(flush.now()))
  elseif args[10] == '1' and redis.call('HEXISTS', ctl, 'block') == 1 then
    unblock(base)
  end
end

-- Stops a fan-out when more than half of its first 100 answers say that the message itself is wrong. Part of a step.
-- Returns the error that ends its unsent recipients, '' for none. `fields`: pairs that the step writes to the spec.
local function weigh_answers(args, progress, fields)
  local abort, seen = progress[2] or '', tonumber(progress[3]) or 0
  if abort ~= '' or seen >= 100 or tonumber(args[11]) <= 0 or tonumber(progress[4]) <= BATCH then return abort end
  local bad, answer = (tonumber(progress[13]) or 0) + tonumber(args[12]), progress[14]
  seen = seen + tonumber(args[11])
  fields[#fields + 1], fields[#fields + 2] = 'answers', int(seen)
  fields[#fields + 1], fields[#fields + 2] = 'bad', int(bad)
  if args[13] ~= '' then
    answer = args[13]
    fields[#fields + 1], fields[#fields + 2] = 'bad_answer', answer
  end
  if seen < 100 or 2 * bad <= seen then return abort end
  fields[#fields + 1], fields[#fields + 2] = 'abort', answer
  return answer
end

-- Notes that a batch's first pass is over: its last send has begun, and its answers need no slot. Part of a step.
local function pass(base, id, flush, known, progress, fields)
  local job, passed = base .. 'job:' .. id, (tonumber(progress[12]) or 0) + 1
  flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'sent', '1'
  flush.has_passed = '1'
  fields[#fields + 1], fields[#fields + 2] = 'passed', int(passed)
  if passed * BATCH < tonumber(progress[4]) then return end
  if not known[6] then
    known[6] = int(now_ms())
    write('HSETNX', job, 'first_pass_ms', known[6])
  end
  if known[8] == 'active' then write('HSET', job, 'state', 'retrying') end
  if progress[5] == 'fanout' then release_slot(base, id) end
end

-- Ends a batch with its last flush. Part of a step.
local function close_batch(base, id, n, worker, flush, is_first_pass)
  local name = id .. '/' .. n
  if is_accounted(base, id, flush) then
    if is_first_pass then write('HDEL', base .. 'rcpt:' .. id, n) end
    write('DEL', flush.batch)
  else
    -- Redis has forgotten an earlier call of this batch. Recipients without a result may have been sent to: the batch
    -- goes to the next holder, with all of them below the watermark.
    local count = redis.call('HGET', flush.batch, 'count')
    flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'upto', count
    write('HSET', flush.batch, unpack(flush.fields))
    write('HDEL', flush.batch, 'alone')
    orphan(base, name, flush.now(), { sent = flush.has_passed, crashes = flush.crashes or '0', upto = count })
    flush.common.is_listed = nil
  end
  write('SREM', base .. 'claims:' .. worker, name)
  write('SREM', base .. 'groups_on', id)
end

-- Decides the writes of a flush. Part of a step. `known`: of the job's hash: sent, failed, unknown, cancelled, expired,
-- first_pass_ms, reason, state. Returns the error that ends the job's unsent recipients, and the number of new retries.
local function decide_flush(base, args, flush, known, progress, holder)
  local id, n, fresh = args[1], args[2], flush.fresh
  local job, spec_key, fields, counters = base .. 'job:' .. id, base .. 'spec:' .. id, {}, {}
  if fresh > 0 and flush.crashes then
    flush.crashes = false
    write('HDEL', flush.batch, 'crashes', 'alone')
    write('DEL', base .. 'crashed:' .. id)
  end
  if flush.class == 'aimed' and fresh > 0 then turn_of_aimed(base, id, flush.counts.s or flush.counts.u, flush.now()) end
  if flush.first_time then change_block(base, id, args, flush, known, progress) end
  for i, letter in ipairs(COUNTERS) do
    if flush.counts[letter] then
      known[i] = (tonumber(known[i]) or 0) + flush.counts[letter]
      counters[#counters + 1], counters[#counters + 2] = LETTERS[letter], int(known[i])
    end
  end
  local unsent, removed, fewer = tonumber(progress[9]) or 0, 0, 0
  if flush.had_waiting and #flush.indexes > 0 then removed, fewer = stop_waiting(base, id, flush.indexes) end
  local retried, grown, more = schedule_retries(base, id, flush, args, 23)
  if flush.first_time and tonumber(args[8]) > 0 then hold_project(base, tonumber(args[8]), flush.now()) end
  local abort = flush.first_time and weigh_answers(args, progress, fields) or progress[2] or ''
  local left = tonumber(progress[1]) - fresh
  local passes = flush.owned and holder[6] and not holder[7] and (args[20] == '1' or args[6] == '1')
  if left <= 0 then
    -- The job is over: nothing more of this batch is written.
    finish_job(base, id, { known = { known[4], known[5], known[6], known[7] }, counters = counters,
      batch = holder[2] and flush.batch, spec = { progress[10], progress[5], progress[11] }, is_listed = flush.is_listed })
    if holder[2] then write('SREM', base .. 'claims:' .. holder[2], args[1] .. '/' .. n) end
    return abort, retried
  end
  for _, mark in ipairs(flush.marks) do write(unpack(mark)) end
  if passes then pass(base, id, flush, known, progress, fields) end
  if fresh > 0 then fields[#fields + 1], fields[#fields + 2] = 'left', int(left) end
  local waits = math.max(0, unsent - fewer + more)
  if waits ~= unsent then fields[#fields + 1], fields[#fields + 2] = 'unsent', int(waits) end
  if #fields > 0 then write('HSET', spec_key, unpack(fields)) end
  if flush.had_waiting or grown > 0 then
    local size = flush.had_waiting and redis.call('HLEN', base .. 'wait:' .. id) or 0
    counters[#counters + 1], counters[#counters + 2] = 'retrying', int(size - removed + grown - waits)
  end
  if #counters > 0 then write('HSET', job, unpack(counters)) end
  if flush.first_time then flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'call', args[19] end
  if flush.owned and args[5] ~= '' and tonumber(args[5]) > tonumber(holder[5]) then
    flush.fields[#flush.fields + 1], flush.fields[#flush.fields + 2] = 'upto', args[5]
  end
  if flush.owned and args[6] == '1' then
    close_batch(base, id, n, args[4], flush, holder[6])
  elseif #flush.fields > 0 then
    write('HSET', flush.batch, unpack(flush.fields))
  end
  return abort, retried
end

-- ---------------------------------------------------------------------------------------------------------------
-- record: one flush of one batch: results, feedback, retries and counters in one step (see redo.lua), after
-- the entries that leave. Also as `records`.
-- `common`: see new_common.
-- ARGV: 1 job id, 2 n, 3 epoch, 4 worker, 5 watermark ('' = as it is), 6 finish (1/0), 7 late (1/0),
--   8 ms to hold every send of the project (0 = none), 9 reason of a block ('' = none),
--   10 the project answers (1), or the probe was not sent (2), or neither (0),
--   11 answers of the first pass, 12 of them 400s that do not name the recipient, 13 such an error as JSON,
--   14 indexes of the results as a JSON array, 15 a status letter for each (s f u c x), in upper case when its object is
--   wanted, 16 those objects as one JSON array, each with `i` first ('' = none), 17 number of retries, 18 of feedback
--   entries, 19 number of the call within the batch, 20 every send of the batch has begun (1/0), 21 number of refused
--   rates, 22 what the worker takes the time for, then
--   retries: index, due, 1 = wait for the probe, "attempts|first_ms|dup|recipient"
--   feedback: index, kind, recipient, action, replacement, error
--   rates: "<kind>:<recipient>", until when no send to it begins
--   optional names, each with its value: 'subscribed', see count_subscribed
-- Returns {'ok', abort} (abort: the error that ends every unsent recipient, '' = none), {'stale'} (another worker
--   holds the batch: nothing was written, send the results again as late), or {'gone'} (the job is over).
function record(base, args, common)
  local id, n, epoch = args[1], args[2], args[3]
  if common.over_ids[id] then return { 'gone' } end
  refuse_stuck(id)
  local indexes, late = cjson.decode(args[14]), args[7] == '1'
  local progress = redis.call('HMGET', base .. 'spec:' .. id, 'left', 'abort', 'answers', 'total', 'class', 'paused', 'next',
    'ending', 'unsent', 'member', 'keep', 'passed', 'bad', 'bad_answer')
  if not progress[1] then return record_of_none(base, id, n, args[4], late) end
  local batch = base .. 'b:' .. id .. '/' .. n
  local holder = redis.call('HMGET', batch, 'epoch', 'owner', 'call', 'crashes', 'upto', 'from', 'sent')
  local owned = not late and holder[1] == epoch and holder[2] == args[4]
  if not owned and not late then
    -- A repeated call of the step that finished the batch has nothing new to say; one that was fenced may have.
    return { 'stale' }
  end
  if late and tonumber(n) and tonumber(n) * BATCH >= tonumber(progress[7] or '0') then
    -- Redis came back with an older state, in which this batch was not claimed yet: whoever claims it must look.
    write('HSETNX', base .. 'rolled:' .. id, n, '0')
  end
  local function now()
    common.clock = common.clock or steady_ms(base, tonumber(args[22]))
    return common.clock
  end
  local waiting, total, class = base .. 'wait:' .. id, tonumber(progress[4]), progress[5]
  -- A plain call has results only. Any other may queue, block or stop jobs, so `is_listed` is asked again after it.
  local is_plain = not late and args[17] == '0' and args[9] == '' and args[10] == '0' and class ~= 'aimed'
  if not is_plain then common.is_listed = {} end
  -- A one-recipient job usually has no other keys; a single EXISTS decides.
  local is_bare = is_plain and total == 1 and #indexes == 1 and redis.call('EXISTS', waiting, base .. 'held:' .. id,
    base .. 'orphans:' .. id, base .. 'stopped:' .. id, base .. 'rolled:' .. id, base .. 'crashed:' .. id,
    base .. 'copy:' .. id) == 0
  if is_bare then
    -- Bare jobs of one class that end in one call ask it once.
    if common.is_listed[class] == nil then common.is_listed[class] = is_listed(base, id, class) end
    is_bare = not common.is_listed[class]
  end
  -- A call that is repeated because its answer was lost counts and holds nothing twice.
  local first_time = owned and tonumber(args[19]) > tonumber(holder[3] or '0')
  local fresh, counts, old, marks = look_up_results(base, id, total, indexes, args[15])
  local known = (#indexes > 0 or not is_plain or args[6] == '1' or args[20] == '1')
    and redis.call('HMGET', base .. 'job:' .. id, 'sent', 'failed', 'unknown', 'cancelled', 'expired', 'first_pass_ms',
      'reason', 'state') or {}
  -- Entries of outgoing streams go first, see redo.lua.
  local at = send_out(base, id, args, indexes, old, 23 + 4 * tonumber(args[17]))
  for _ = 1, tonumber(args[21]) do
    if first_time then hold_recipient(base, args[at], tonumber(args[at + 1]), now()) end
    at = at + 2
  end
  for i = at, #args - 1, 2 do
    if args[i] == 'subscribed' then count_subscribed(base, args[i + 1]) end
  end
  if is_bare then
    end_single(base, id, n, holder[2], progress, known, (next(counts)), common)
    return { 'ok', progress[2] or '' }
  end
  local had_waiting = redis.call('EXISTS', waiting) == 1
  local flush = { common = common, now = now, indexes = indexes, fresh = fresh, counts = counts, old = old, marks = marks,
    batch = batch, owned = owned, first_time = first_time, class = class, ending = progress[8], crashes = holder[4],
    had_waiting = had_waiting, fields = {}, retried = {} }
  step = {}
  local abort, retried = decide_flush(base, args, flush, known, progress, holder)
  local writes = step
  step = nil
  commit_counted(base, id, writes, common, counts, retried, fresh)
  return { 'ok', abort }
end

-- Ends the one-recipient jobs of all flushes of one call, and writes the project's totals.
function record_end(base, common)
  if common.over then
    local writes, fresh = {}, 0
    for worker, names in pairs(common.over) do writes[#writes + 1] = { 'over', base, worker, unpack(names) } end
    for _, count in pairs(common.over_counts) do fresh = fresh + count end
    commit_counted(base, '', writes, common, common.over_counts, 0, fresh)
  end
  if common.totals then make_totals(common.totals.writes) end
end

end

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

-- ---------------------------------------------------------------------------------------------------------------
-- Calls that come together. What a job of one recipient costs here is mostly the calls of a function and what each asks
-- first, so a worker hands over several jobs at once, and writes the results of several.

-- What the calls of one function call share.
-- Written at the end, by intake_end or record_end (lists, see `note_for_end`):
--   entries, taken      entries that leave `jobs`; those of them that became a job, as a set
--   wanted              those entries that had been cancelled and stand in `unwanted`
--   claimed             by worker: batches that it holds now
--   opened, copying     jobs that are not over; jobs whose audience is copied
--   timed               name of a zset -> list of {score, member}
--   duplicates, seen    key of a job -> its new count of `duplicates`; list of SET commands that remember ids
--   over, over_counts   worker -> one-recipient jobs that are over, and their batches; status letter -> their number
--   over_ids            the same jobs as a set
--   totals              the project's counters after the steps that are noted so far; see add_totals
-- Asked once:
--   ctl, now, wall      of intake: `ctl` as read and changed, the project's time, the time of the day
--   clock, ended_at     of record: the project's time, and the time of the day at which its jobs ended
--   away                by worker and connection: see is_away
--   is_calm             `unwanted` and `singles` do not exist; false once a job was queued
--   is_queued           whether this call adds a job to `singles` at its end
--   is_listed           by class: a job may stand in a queue, or among those that are parked, blocked, restored, ending
--                       or expiring; forgotten before and after whatever may put one there
local function new_common()
  return { away = {}, taken = {}, seen = {}, over_ids = {}, over_counts = {}, is_listed = {} }
end

local function make(one, base, args, common)
  local is_made, reply = pcall(one, base, args, common)
  return is_made and reply or failed(base, reply)
end

-- `one(base, args, common)` makes a call, `ending(base, common)` writes what it left in `common`.
local function one_call(one, ending)
  return guarded(function(keys, args)
    local common = new_common()
    local reply = make(one, keys[1], args, common)
    ending(keys[1], common)
    return reply
  end)
end

-- intakes, records: several calls of intake, or of record, in their order.
-- ARGV: of each call the number of its arguments, and those.
-- Returns a list: of each call what it returns, or an error, which keeps no other from being made.
local function several_calls(one, ending)
  return guarded(function(keys, args)
    local base, common, replies, at = keys[1], new_common(), {}, 1
    while at <= #args do
      local count, call = tonumber(args[at]), {}
      for i = 1, count do call[i] = args[at + i] end
      at = at + count + 1
      replies[#replies + 1] = make(one, base, call, common)
    end
    ending(base, common)
    return replies
  end)
end

-- ---------------------------------------------------------------------------------------------------------------
-- What operators do. Jobs answer {'missing'}, {'over', state} or {'ok', state}.

local OVER = { done = true, cancelled = true, expired = true, rejected = true }

local function find(base, id)
  local state = redis.call('HGET', base .. 'job:' .. id, 'state')
  if not state then return nil, { 'missing' } end
  local spec = load_spec(base, id)
  if OVER[state] or not spec then return nil, { 'over', state } end
  return spec, state
end

-- cancel: ends a job; each recipient without a result gets `cancelled`, or `unknown` if it may have been reached.
-- ARGV: job id.
local function cancel(keys, args)
  local spec, state = find(keys[1], args[1])
  if not spec then
    -- A topic whose audience was thought too large keeps the slot for too long: this gives it up.
    redis.call('HDEL', keys[1] .. 'active', args[1])
    return state
  end
  end_job(keys[1], args[1], 'cancelled', steady_ms(keys[1]))
  return { 'ok', redis.call('HGET', keys[1] .. 'job:' .. args[1], 'state') }
end

-- cancel_entry: a job that no worker has taken yet is an entry of `jobs`; it ends as soon as one takes it.
-- ARGV: job id, which may be the entry's, entry to look behind ('-' = from the first).
-- Returns {'ok'}, {'missing'}, or {'more', entry to go on behind}: a call looks at a few entries, which may be
-- large.
local function cancel_entry(keys, args)
  local base, id, start = keys[1], args[1], args[2]
  local jobs = base .. 'jobs'
  if string.match(id, '^%d+%-%d+$') and #redis.call('XRANGE', jobs, id, id) == 1 then
    redis.call('SADD', base .. 'unwanted', id)
    return { 'ok' }
  end
  local entries = redis.call('XRANGE', jobs, start == '-' and start or '(' .. start, '+', 'COUNT', 20)
  for _, entry in ipairs(entries) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'id' and entry[2][i + 1] == id then
        redis.call('SADD', base .. 'unwanted', entry[1])
        return { 'ok' }
      end
    end
  end
  if #entries < 20 then return { 'missing' } end
  return { 'more', entries[#entries][1] }
end

-- pause: nothing of the job is sent until it is resumed; a fan-out gives up the slot. ARGV: job id.
-- Also {'parked'}: the job waits for a person already.
local function pause(keys, args)
  local base, id = keys[1], args[1]
  local spec, state = find(base, id)
  if not spec then return state end
  if spec.parked then return { 'parked' } end
  if spec.ending then return { 'over', state } end
  if not spec.paused then
    in_step(base, id, function()
      write('HSET', base .. 'spec:' .. id, 'paused', '1')
      write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', 'paused by an operator')
      release_block(base, id)
      dequeue(base, spec)
      release_slot(base, id)
      -- Workers stop batches up to this epoch; later ones were claimed after a resume.
      tell(base, 'stop', id, next_epoch(base, now_ms()))
    end)
  end
  return { 'ok', 'paused' }
end

-- Part of a step. `known`: see restore.
local function go_on(base, id, spec, known)
  local key, copies = base .. 'spec:' .. id, nil
  write('HDEL', key, 'paused', 'parked')
  spec.paused, spec.parked = nil, nil
  if spec.source == 'set' and redis.call('HEXISTS', key, 'whole') == 0 then
    -- Its copy was given up; it starts over.
    write('HDEL', key, 'run', 'restarts')
    write('SADD', base .. 'copying', id)
    copies = true
  end
  known = known or {}
  known.copying = copies
  restore(base, id, spec, steady_ms(base), known)
  local state = natural_state(base, id, spec)
  write('HSET', base .. 'job:' .. id, 'state', state)
  write('HDEL', base .. 'job:' .. id, 'reason')
  return state
end

-- resume: a paused job goes on where it was. ARGV: job id.
local function resume(keys, args)
  local spec, state = find(keys[1], args[1])
  if not spec then return state end
  if spec.parked then return { 'parked' } end
  if not spec.paused then return { 'ok', state } end
  return { 'ok', (in_step(keys[1], args[1], go_on, keys[1], args[1], spec)) }
end

-- pause_project: nothing of the project is sent until it is resumed. ARGV: reason. Returns {'ok'}.
local function pause_project(keys, args)
  redis.call('HSET', keys[1] .. 'ctl', 'pause', args[1] ~= '' and args[1] or 'paused by an operator')
  return { 'ok' }
end

-- resume_project: lifts an operator's pause, and has a blocked project probed at once. Returns {'ok'}.
local function resume_project(keys)
  local ctl = keys[1] .. 'ctl'
  redis.call('HDEL', ctl, 'pause')
  if redis.call('HEXISTS', ctl, 'block') == 1 then
    local now = int(steady_ms(keys[1]))
    redis.call('HSET', ctl, 'block_until', now)
    -- What waits for the probe waits for its old time: the first of it is due now.
    for _, set in ipairs(WAITING) do
      local member = redis.call('ZRANGE', keys[1] .. set, 0, 0)[1]
      if member then redis.call('ZADD', keys[1] .. set, 'LT', now, member) end
    end
  end
  return { 'ok' }
end

-- replay: an entry of `dead` goes on: a parked job with its unfinished recipients, a rejected entry as a new one.
-- ARGV: entry id. Returns {'resumed', job}, {'pushed', new entry id}, {'gone', job} (nothing is left of it), {'busy', job}
-- (another job of the same id runs: replay when it is over), {'missing'}.
local function replay(keys, args)
  local base = keys[1]
  local entry = redis.call('XRANGE', base .. 'dead', args[1], args[1])[1]
  if not entry then return { 'missing' } end
  local fields = pairs_to_map(entry[2])
  if fields.kind == 'parked' then
    local id = fields.job
    local spec = load_spec(base, id)
    local is_parked = spec and spec.parked
    if is_parked then
      in_step(base, id, function()
        write('SREM', base .. 'jobs_parked', id)
        write('SADD', base .. 'jobs_open', id)
        for _, name in ipairs(redis.call('LRANGE', base .. 'stopped:' .. id, 0, -1)) do
          write('HDEL', base .. 'b:' .. name, 'crashes', 'alone')
        end
        write('DEL', base .. 'crashed:' .. id)
        go_on(base, id, spec, { crashes = '0' })
        write('XDEL', base .. 'dead', args[1])
      end)
      return { 'resumed', id }
    end
    write('XDEL', base .. 'dead', args[1])
    return { 'gone', id }
  end
  local push = { 'XADD', base .. 'jobs', '*' }
  for i = 1, #entry[2], 2 do
    if string.sub(entry[2][i], 1, 2) == 'f.' then
      push[#push + 1] = string.sub(entry[2][i], 3)
      push[#push + 1] = entry[2][i + 1]
    end
  end
  if #push == 3 then return { 'gone', fields.job } end
  -- Exempt from dedupe: a person wants it sent. But two jobs cannot run under one id.
  local own = pairs_to_map(entry[2])['f.id']
  if own then
    if redis.call('EXISTS', base .. 'spec:' .. own) == 1 then return { 'busy', own } end
    redis.call('DEL', base .. 'seen:' .. own)
  end
  -- An entry that is pushed twice is sent twice, so rights and types are checked first.
  may(base, 'replay', true)
  local pushed = redis.call(unpack(push))
  write('XDEL', base .. 'dead', args[1])
  return { 'pushed', pushed }
end

-- drop: takes an entry out of `dead`; what a parked job has left is cancelled.
-- ARGV: entry id. Returns {'dropped', job} or {'missing'}.
local function drop(keys, args)
  local base = keys[1]
  local entry = redis.call('XRANGE', base .. 'dead', args[1], args[1])[1]
  if not entry then return { 'missing' } end
  local fields = pairs_to_map(entry[2])
  local spec = fields.kind == 'parked' and load_spec(base, fields.job)
  if spec and spec.parked then end_job(base, fields.job, 'cancelled', steady_ms(base)) end
  write('XDEL', base .. 'dead', args[1])
  return { 'dropped', fields.job }
end

-- overview: what the project is doing; a flat map. For each job that holds the slot, `active_left` says for how many ms
-- FCM is still busy with it; '-' when it goes by its sends.
local function overview(keys)
  local base, now = keys[1], steady_ms(keys[1])
  local ctl = redis.call('HMGET', base .. 'ctl', 'pause', 'block', 'hold_until', 'pressure', 'quota')
  local pace = current_pace(look(base), now)
  local active, left = {}, {}
  local turns = redis.call('HGETALL', base .. 'active')
  for i = 1, #turns, 2 do
    active[#active + 1] = turns[i]
    local ends = string.match(turns[i + 1], '|(%d+)$')
    left[#left + 1] = ends and int(math.max(0, tonumber(ends) - now)) or '-'
  end
  return { 'now_ms', int(now_ms()), 'paused', ctl[1] and '1' or '0', 'pause_reason', ctl[1] or '', 'block', ctl[2] or '',
    'hold_ms', int(math.max(0, (tonumber(ctl[3]) or 0) - now)), 'pressure', ctl[4] or '',
    'open', int(redis.call('SCARD', base .. 'jobs_open')), 'parked', int(redis.call('SCARD', base .. 'jobs_parked')),
    'entries', int(redis.call('XLEN', base .. 'jobs')), 'retrying', int(redis.call('ZCARD', base .. 'retry') + redis.call('ZCARD', base .. 'retry_many')),
    'scheduled', int(redis.call('ZCARD', base .. 'sched')),
    'waiting_fanouts', int(redis.call('ZCARD', base .. 'queue')), 'workers', int(redis.call('HLEN', base .. 'leases')),
    'rate', pace.rate, 'recovering', pace.recovering, 'quota', ctl[5] or '0', 'active', table.concat(active, ' '), 'active_left', table.concat(left, ' '),
    'epoch', redis.call('HGET', base .. 'ctl', 'epoch') or '0' }
end

-- trim: takes old entries out of an outgoing stream, but nothing that an existing group has not acknowledged.
-- ARGV: stream's name behind the base, ms to keep. Returns the number of entries taken out.
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

-- tidy: removes consumers that have nothing pending and have not been heard of for a while. In one step, because one
-- that read an entry in between would take the entry's only mark along.
-- ARGV: ms. Returns the number of consumers removed.
local function tidy(keys, args)
  local jobs, removed = keys[1] .. 'jobs', 0
  local consumers = redis.pcall('XINFO', 'CONSUMERS', jobs, 'fanfare')
  if consumers.err then return 0 end
  for _, flat in ipairs(consumers) do
    local consumer = pairs_to_map(flat)
    if consumer.pending == 0 and consumer.idle > tonumber(args[1]) then
      redis.call('XGROUP', 'DELCONSUMER', jobs, 'fanfare', consumer.name)
      removed = removed + 1
    end
  end
  return removed
end

-- ---------------------------------------------------------------------------------------------------------------
-- fleet: what a person sees of one project, at one moment, for whoever looks at every project each second. What it costs
-- is bounded, whatever the project holds, and it writes nothing.

-- A job as it is listed: its id, its hash, and how it is run; nil when there is none.
local function listed(base, id)
  local job = redis.call('HGETALL', base .. 'job:' .. id)
  if #job == 0 then return nil end
  local spec = redis.call('HMGET', base .. 'spec:' .. id, 'class', 'priority', 'ending')
  -- What is not written is the usual; of a job that is over nothing is known.
  return { id, job, spec[1] or '', spec[2] or spec[1] and '5' or '', spec[3] or '' }
end

-- `names` -> jobs, without those that are in `known`, which grows.
local function list(base, names, known, most)
  local jobs = {}
  for _, id in ipairs(names) do
    if #jobs >= most then break end
    if not known[id] then
      known[id] = true
      jobs[#jobs + 1] = listed(base, id)
    end
  end
  return jobs
end

-- How long ago the oldest job came that nobody has begun: an entry of `jobs`, or a job that waits for a worker or its turn.
local function oldest_wait(base, wall)
  local oldest = wall
  local jobs = base .. 'jobs'
  local pending, behind = redis.pcall('XPENDING', jobs, 'fanfare'), '-'
  if not pending.err and tonumber(pending[1]) > 0 then
    oldest = math.min(oldest, tonumber(string.match(pending[2], '^%d+')) or wall)
  elseif redis.call('XLEN', jobs) > 0 then
    -- Whole entries are read, which may be large, so only the first that no worker was given.
    if not pending.err then
      for _, group in ipairs(redis.call('XINFO', 'GROUPS', jobs)) do
        local map = pairs_to_map(group)
        if map.name == 'fanfare' then behind = '(' .. map['last-delivered-id'] end
      end
    end
    local entry = redis.call('XRANGE', jobs, behind, '+', 'COUNT', 1)[1]
    if entry then oldest = math.min(oldest, tonumber(string.match(entry[1], '^%d+')) or wall) end
  end
  for _, queue in ipairs({ 'singles', 'groups', 'managed', 'queue' }) do
    for _, member in ipairs(redis.call('ZRANGE', base .. queue, 0, 19)) do
      local id = string.match(member, '^[^/]*/(.*)$')
      local times = redis.call('HMGET', base .. 'job:' .. id, 'created_ms', 'started_ms')
      -- A fan-out that was preempted has begun.
      if times[1] and not times[2] then oldest = math.min(oldest, tonumber(times[1])) end
    end
  end
  return math.max(0, wall - oldest)
end

-- Results that the slowest group of readers has not acknowledged; '' when there is no group.
local function unread(base)
  local most = ''
  if redis.call('EXISTS', base .. 'results') == 0 then return most end
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', base .. 'results')) do
    local map = pairs_to_map(group)
    local behind = map['pending'] + (tonumber(map['lag'] or nil) or redis.call('XLEN', base .. 'results'))
    if most == '' or behind > most then most = behind end
  end
  return most == '' and '' or int(most)
end

-- Recipients without a result; those of jobs that need a person wait for nobody.
local function recipients_left(base)
  local left = tonumber(redis.call('HGET', base .. 'ctl', 'left') or '0')
  for _, id in ipairs(redis.call('SSCAN', base .. 'jobs_parked', '0', 'COUNT', 100)[2]) do
    left = left - (tonumber(redis.call('HGET', base .. 'spec:' .. id, 'left')) or 0)
  end
  return math.max(0, left)
end

-- Each worker: its name, how long it has been silent ('' = it has not said), what it says of itself, batches it holds.
local function crew(base, wall)
  local workers = {}
  for _, worker in ipairs(redis.call('HKEYS', base .. 'leases')) do
    local about = redis.call('HGET', base .. 'about', worker)
    local at, text
    if about then at, text = string.match(about, '^(%d+)|(.*)$') end
    workers[#workers + 1] = { worker, at and int(math.max(0, wall - tonumber(at))) or '', text or '',
      int(redis.call('SCARD', base .. 'claims:' .. worker)) }
  end
  return workers
end

-- ARGV: jobs of each list at most. Returns a flat map: what `overview` gives, and
--   left: recipients without a result; oldest_ms: how long the oldest job waits that nobody has begun;
--   singles groups managed: jobs that wait for a worker; dead: entries; results: entries; unread: as above;
--   probe_ms: until a blocked project is tried again; have: permits at hand;
--   tally: flat, what became of recipients since the beginning, and the retries;
--   holding queued needing others: jobs that hold the slot, that wait for it in their order, that need a person, and
--   some of all others; crew: workers.
local function fleet(keys, args)
  local base, most = keys[1], tonumber(args[1])
  local now, wall = steady_ms(base)
  local reply, known = overview(keys), {}
  local ctl = redis.call('HMGET', base .. 'ctl', 'block', 'block_until', 'have')
  local queued = {}
  for i, member in ipairs(redis.call('ZRANGE', base .. 'queue', 0, most - 1)) do
    queued[i] = string.match(member, '^[^/]*/(.*)$')
  end
  local function add(name, value)
    reply[#reply + 1] = name
    reply[#reply + 1] = value
  end
  add('left', int(recipients_left(base)))
  add('oldest_ms', int(oldest_wait(base, wall)))
  for _, queue in ipairs({ 'singles', 'groups', 'managed' }) do add(queue, int(redis.call('ZCARD', base .. queue))) end
  add('dead', int(redis.call('XLEN', base .. 'dead')))
  add('results', int(redis.call('XLEN', base .. 'results')))
  add('unread', unread(base))
  add('probe_ms', ctl[1] and int(math.max(0, (tonumber(ctl[2]) or 0) - now)) or '0')
  add('have', ctl[3] or '0')
  add('tally', redis.call('HGETALL', base .. 'tally'))
  add('holding', list(base, redis.call('HKEYS', base .. 'active'), known, most))
  add('queued', list(base, queued, known, most))
  add('needing', list(base, redis.call('SSCAN', base .. 'jobs_parked', '0', 'COUNT', most)[2], known, most))
  add('others', list(base, redis.call('SSCAN', base .. 'jobs_open', '0', 'COUNT', 3 * most)[2], known, most))
  add('crew', crew(base, wall))
  return reply
end

-- ---------------------------------------------------------------------------------------------------------------
-- A function that only frees or reports runs when memory is full, too: the way out must not be shut.
redis.register_function{ function_name = 'fanfare_v1_register', callback = register, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_renew', callback = renew, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_reconcile', callback = guarded(reconcile), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_bury', callback = guarded(bury), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_leave', callback = guarded(leave), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_release', callback = guarded(release), flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_intake', one_call(intake, intake_end))
redis.register_function('fanfare_v1_intakes', several_calls(intake, intake_end))
redis.register_function{ function_name = 'fanfare_v1_reject', callback = guarded(reject), flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_copy', guarded(copy))
redis.register_function('fanfare_v1_claim', guarded(claim))
redis.register_function{ function_name = 'fanfare_v1_spec', callback = spec, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v1_record', callback = one_call(record, record_end),
  flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_records', callback = several_calls(record, record_end),
  flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_hold', callback = guarded(hold), flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_pace', guarded(pace))
redis.register_function('fanfare_v1_manage', guarded(manage))
redis.register_function('fanfare_v1_connect', guarded(connect))
redis.register_function{ function_name = 'fanfare_v1_trim', callback = guarded(trim), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_tidy', callback = guarded(tidy), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_cancel', callback = guarded(cancel), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_cancel_entry', callback = guarded(cancel_entry), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_pause', callback = guarded(pause), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_resume', callback = guarded(resume), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_pause_project', callback = guarded(pause_project), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_resume_project', callback = guarded(resume_project), flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_replay', guarded(replay))
redis.register_function{ function_name = 'fanfare_v1_drop', callback = guarded(drop), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_overview', callback = overview, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v1_fleet', callback = fleet, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v1_check', callback = check, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v1_repair', callback = guarded(repair), flags = { 'allow-oom' } }
