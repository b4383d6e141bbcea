#!lua name=fanfare_v2

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
