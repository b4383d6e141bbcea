#!lua name=fanfare_v3

-- Decisions that several workers share. Version 3. The files of this folder are one library, loaded as one text in the
-- order of FunctionLibrary.source.
--
-- Every function but `renewals` takes exactly one key, the project's base `fanfare:{p}:`. All other keys are that base
-- with a suffix, so they live in its slot; the function often decides which job it touches, so the caller cannot list
-- them. The one key from elsewhere is a job's audience: intake has checked that it has the same hash tag.
--
-- Rules that every function keeps:
--   * all or nothing, although Redis has no rollback: entries of outgoing streams are written first, and may be written
--     twice; all other writes that belong together are one step, see redo.lua. A write outside of a step must be
--     harmless if the function fails just before or just after it;
--   * idempotent: called twice with the same arguments it answers the same and changes nothing more;
--   * decisions (hand over, retry, finish, release) carry an epoch and are refused when it is old;
--   * facts (recipient n was answered r) are set once and accepted from any worker;
--   * times that producers name or operators read are Redis TIME; waits are measured on the project's own clock, which
--     runs evenly when the server's clock is set;
--   * a file with many functions declares the ones that other files call, and keeps all others in a block: Lua allows
--     200 locals;
--   * a function names its arguments in its first line, in the order in which Swift writes them. A reply that says more
--     than one word is a list of names, each followed by its value; the caller ignores names that it does not know.
--
-- Keys after the base:
--   jobs results feedback dead      streams, public
--   job:<id>                        hash, public: state and counters
--   unwanted                        set: entries of `jobs` that were cancelled before a worker took them
--   seen:<id>                       string: the id is taken, for the dedupe window; deleted with the end of a job whose
--                                   results have 0 attempts, all of them
--   spec:<id>                       hash: what a worker needs to run the job, and its progress; deleted with its end
--   rcpt:<id>                       hash: batch number -> recipients, one a line; further fields of a batch are pieces
--                                   of a long text, see recipients.lua. They are deleted with their batch
--   copy:<id>                       list: the private copy of a SET audience
--   done:<id>                       bitmap: recipients that have their result; a one-recipient job has none
--   wait:<id>                       hash: recipient -> "attempts|first_ms|dup|recipient", until it has its result; each
--                                   zero in front of first_ms is a refusal of the recipient, see waiting.lua
--   again retry retry_many again_managed   zsets: "<id>/<recipient>" by due time, DUE_UNSENT, DUE_RETRY,
--                                   DUE_FANOUT_RETRY, DUE_MANAGEMENT: unsent recipients, retries of jobs of one batch,
--                                   retries of fan-outs, and all recipients of management
--   rolled:<id>                     hash: batch -> watermark, of forgotten claims: Redis came back with an older state
--   held:<id>                       zset: the due times of a job that was paused or parked
--   queue singles groups            zsets, score 0: jobs with unclaimed batches, "<9 - priority><entry id>/<id>";
--                                   queue: fan-outs that wait for the slot; groups: sends to device groups
--   managed                         zset: jobs without a message, likewise
--   active                          hash: fan-out that holds the slot -> "<epoch>|" and nothing, `?` while a
--                                   broadcast is in flight, or until when FCM is busy with it
--   subscribed:<topic>              HyperLogLog: tokens that Fanfare subscribed to the topic
--   counted                         zset: topics that have a count, subscribed:<topic>, by their last use in Redis TIME
--   sched expiring                  zsets: jobs by not_before, and by expires_at, in Redis TIME; other due times are of
--                                   the project's own clock
--   copying                         set: jobs whose audience is being copied
--   jobs_open jobs_parked           sets: jobs that are not over and need no operator; jobs that need an operator
--   blocked                         set: jobs that are paused because the project is blocked
--   ending                          zset: jobs whose unfinished recipients get their result without a send, by when
--                                   more of them are claimed
--   restoring                       set: jobs whose held:<id> is moved back step by step
--   crashed:<id>                    hash: recipient -> how many workers in a row died while they held it
--   b:<id>/<n>                      hash: one claimed batch; w<recipient> marks one that was handed on to a retry
--   claims:<worker>                 set: batches that the worker holds; not of compact jobs
--   compact compact:<worker>        hashes: jobs of one recipient, until their result; see compact.lua
--   holders                         set: workers that know compact jobs, until these are freed
--   groups_on                       set: jobs whose group send is in flight
--   orphans                         list: batches whose worker died or gave them back
--   orphans:<id> stopped:<id>       lists: the same of a fan-out's first pass, which needs the slot; of a job that may
--                                   not be sent now
--   suspects                        list: quarantined batches: three workers in a row died while they held one
--   redo                            hash: `steps`: noted steps; see redo.lua
--   leases links connections        hashes: worker -> renew counter (see leases.lua), number of its latest connection
--                                   to Redis, XMPP connections
--   news refused                    streams of an hour's events that workers must learn at once: of jobs; of refused
--                                   rates, which are many and delay no other news
--   rates                           hash: "<kind>:<recipient>" that FCM refused for its rate -> until when, and its
--   pace rated                           zset: the same by the time of the refusal
--   about                           hash: worker -> "<when, Redis TIME>|<what it reports of itself, JSON>"
--   history                         hash: slot of 10 s or 5 min in a ring -> its counts; see history.lua
--   recorded                        hash: worker -> number of its last record in `history`
--   marks audit                     streams: events that explain the history, of a day; acts of operators
--   finished                        zset: the last jobs that are over, by their end in Redis TIME; see trail.lua
--   reasons                         hash: job -> the reason that write_reasons wrote into its hash
--   fingerprints fingerprints_open  stream, list: the index of `results` by token; see index_results
--   tally                           hash: results by status since the beginning, `retries` and `maybe_dup`
--   answers                         hash: place in a ring -> "when|answers|refused|wait until", as workers reported
--   lent                            hash: number of a half second -> permits lent in it
--   later closed_windows            zset, set: jobs that their guards hold back; see guards.lua
--   jobs_stopped jobs_paused        zsets: jobs that are paused; see pauses.lua
--   paused                          string: exists while an operator has paused the project; see QuietPlan.swift
--   ctl                             hash: the project's control, see below
--
-- Fields and values that are stored since version 1 and keep their spelling, because both versions work on one state:
--   class `aimed`                   a broadcast: a job to a topic or a condition, which FCM fans out
--   spec:<id> `again` = 1           the broadcast must be sent again, and waits for the slot
--   spec:<id> `unsent`              how many recipients in wait:<id> have no attempt
--   spec:<id> `whole`               the audience is copied completely; `run`, `cursor`: where the copy stands
--   spec:<id> `answers`             first attempts, up to 100; see message.lua, also for `refusals` and `judged`
--   spec:<id> `abort`, `bad`, `bad_answer`   written by version 1 only, and ignored; see message.lua
--   spec:<id> `untried`             results with 0 attempts, as long as no other is known
--   spec:<id> `born`                an epoch between an earlier job of the id and this one
--   spec:<id> `paused`              what an operator paused: `job`, `all`, or `1`, which an earlier version wrote
--   spec:<id> `dead`                the entry of `dead` of a parked job
--   spec:<id> `guarded` = 1         the job has guards; see guards.lua for their fields
--   spec:<id> `passed`              batches whose first pass is over; b:<id>/<n> `sent` = 1 marks them
--   b:<id>/<n> `upto`               the watermark: sends below this position may have begun
--   b:<id>/<n> `call`               number of the holder's last flush
--   b:<id>/<n> `lost` = 1           its holder was declared dead, and no worker has it yet
--   b:<id>/<n> `alone` = 1          the batch is run while nothing else of its worker's process is in flight; `spared` = 1:
--                                   it was given back so, and is run beside other projects next
--   redo: operations `tell`, `over` append news; remove the keys of one-recipient jobs that are over
--   news: kinds `stop`, `end`       the job was paused or parked; the job ends with a status. Also `parked`, with the reason,
--                                   for the log; `refused`, a job that FCM refused since the project is blocked
--   ctl `alone`                     the worker that runs the quarantined batches
--   ctl `have`, `at`, `level`       permits in the bucket, and when they were counted; permits a second on the ramp
--   ctl `owed`, `owed_until`        permits reserved for single recipients that found none
--   ctl `debt`                      permits that multicasts took in advance from the fan-out share
--   ctl `pacing`                    what the pace remembers beside the bucket; see quota.lua
--   ctl `share`                     the share of refusals by which the pace is lowered
--   ctl `newest`                    the newest place in the ring `answers`
--   ctl `answered_at`, `refused_at` when FCM last answered, and last refused
--   ctl `looked`, `pressure`        when the pressure was last measured, and its reason
--   ctl `clock`, `lead`             the latest time of the project's clock, and its offset to Redis TIME
--   ctl `said`, `refused`           the last entries of `news` and of `refused`
--   ctl `rejected`                  ids of the newest rejected entries of `dead`, the newest first
--   ctl `left`                      recipients without a result; `epoch`: the last that was given out
--   ctl `version`                   of the worker that started last
--   ctl `managed_at`, `connect_at`  when the next operation, and the next XMPP connection, may begin
--   ctl `quota`, `quota:<worker>`   the lowest quota of the living workers, which counts; the quota of each
--   ctl `doubted`, `proven`         "<hash>/<job>" of the different recipients that FCM refused since the last accepted
--                                   send; fingerprints of the credentials that had an accepted send, the latest last
--   ctl `unprobed`                  1: no probe was sent since the project is blocked; own: one of a refused job was
--   ctl also: block, block_until, hold_until, pause, recovering

local BATCH = 1000
local HOUR = 3600000

-- write(command, ...): calls Redis, or adds the command to the step that is being decided; see redo.lua.
local write

-- The time of the day, Redis TIME in Unix ms. It can be set back or forward: what waits is measured by project_ms.
local function wall_ms()
  local seconds, microseconds = unpack(redis.call('TIME'))
  return seconds * 1000 + math.floor(microseconds / 1000)
end

-- The text of a whole number. '%.0f' takes twice as long, so only numbers that are too large for 64 bits use it.
local function int(value)
  return string.format(value < 2 ^ 62 and '%d' or '%.0f', value)
end

-- Appends a name and its value to a list of pairs.
local function add_pair(list, name, value)
  list[#list + 1] = name
  list[#list + 1] = value
end

-- The fields of a hash by their names; false for a field that is missing.
local function read_fields(key, names)
  local values, fields = redis.call('HMGET', key, unpack(names)), {}
  for i, name in ipairs(names) do fields[name] = values[i] end
  return fields
end

-- Fields of `ctl` that most calls need, read by one command; write_control writes all changes by one.
local CONTROL_FIELDS = { 'clock', 'lead', 'epoch', 'level', 'have', 'at', 'hold_until', 'owed', 'owed_until', 'block',
  'pause', 'pressure', 'alone', 'left', 'debt', 'recovering', 'share', 'answered_at', 'refused_at', 'newest', 'quota',
  'pacing' }

local function read_control(base)
  local control = read_fields(base .. 'ctl', CONTROL_FIELDS)
  control.changes = {}
  return control
end

-- `value`: text, or a number, which write_control formats with six decimals.
local function set_control(control, name, value)
  control[name] = value
  control.changes[name] = value
end

local function write_control(base, control)
  local command = { 'HSET', base .. 'ctl' }
  for name, value in pairs(control.changes) do
    add_pair(command, name, type(value) == 'number' and string.format('%.6f', value) or value)
  end
  if #command > 2 then write(unpack(command)) end
end

-- A smaller difference than this is not taken for a step of the server's clock.
local CLOCK_STEP = 2000

-- The project's own clock: Redis TIME plus an offset, which absorbs each step of the server's clock.
-- A step back shows in the latest time that was seen (`clock`). A step forward, as against a while without calls, shows
-- in the calling worker's clock, which counts from its machine's start.
-- `worker_clock`: the worker's estimate of the project's time; 0 when it has none yet; nil: the call changes nothing.
-- `control`: what the caller has read, and will write.
-- Returns the project's time and the time of the day, of the same moment.
local function project_ms(base, worker_clock, control)
  local known = control or read_control(base)
  local seen, offset = tonumber(known.clock), tonumber(known.lead or '0')
  local wall = wall_ms()
  local now = wall + offset
  if not seen then seen = now end
  if now < seen - CLOCK_STEP then
    now = seen
  elseif now > seen + CLOCK_STEP then
    if not worker_clock then return seen + CLOCK_STEP, wall end
    local expected = math.max(seen, worker_clock)
    if worker_clock > 0 and now > expected + CLOCK_STEP then now = expected end
  end
  if worker_clock then
    if now ~= wall + offset then
      set_control(known, 'lead', int(now - wall))
      set_control(known, 'clock', int(now))
    elseif not known.clock or now >= seen + 250 then
      set_control(known, 'clock', int(now))
    end
    if not control then write_control(base, known) end
  end
  return now, wall
end

-- Returns an epoch above every earlier one, also when Redis came back with an older state. `control`: see project_ms.
local function next_epoch(base, now, control, wall)
  local stored = not control and redis.call('HGET', base .. 'ctl', 'epoch') or control and control.epoch
  local epoch = int(math.max(tonumber(stored or '0') + 1, now, wall or wall_ms()))
  if control then
    set_control(control, 'epoch', epoch)
  else
    redis.call('HSET', base .. 'ctl', 'epoch', epoch)
  end
  return epoch
end

-- Collects a value for handover.finish or finish_records. `list`: see new_common; `group`: its worker, or 'all'.
local function collect(common, list, group, value)
  local groups = common[list]
  if not groups then
    groups = {}
    common[list] = groups
  end
  local values = groups[group]
  if values then values[#values + 1] = value else groups[group] = { value } end
end

-- A map of names, each followed by its value, from a place in the list on.
local function pairs_to_map(list, from)
  local map = {}
  for i = from or 1, #list - 1, 2 do map[list[i]] = list[i + 1] end
  return map
end

-- "<job>/<n>", of a batch, a queue's member or a due recipient: the part before the last slash, and the part after it.
local function split_name(name)
  return string.match(name, '^(.*)/([^/]+)$')
end

-- The job's id in a member of a queue, whose own id may hold further slashes.
local function job_of_member(member)
  return string.match(member, '^[^/]*/(.*)$')
end

-- Whether a stream id stands before another; '0' is before all.
local function is_earlier(left, right)
  local left_ms, left_number = string.match(left, '^(%d+)-?(%d*)$')
  local right_ms, right_number = string.match(right, '^(%d+)-?(%d*)$')
  if left_ms ~= right_ms then return tonumber(left_ms) < tonumber(right_ms) end
  return (tonumber(left_number) or 0) < (tonumber(right_number) or 0)
end

-- Appends an entry that every worker reads with its next claim, and removes the entries older than an hour.
local function append_news_now(base, kind, name, value)
  local id = redis.call('XADD', base .. 'news', '*', 'kind', kind, 'name', name, 'value', value)
  redis.call('HSET', base .. 'ctl', 'said', id)
  redis.call('XTRIM', base .. 'news', 'MINID', '~', int(wall_ms() - HOUR))
end

-- Whether a call came over the worker's latest connection. The reply to a call of an earlier one would be lost.
local function is_current(base, worker, link)
  local latest = tonumber(redis.call('HGET', base .. 'links', worker) or '0')
  link = tonumber(link) or 0
  if link > latest then redis.call('HSET', base .. 'links', worker, int(link)) end
  return link >= latest
end

local function old_link()
  return redis.error_reply('OLDLINK this worker has a later connection')
end

local SPEC_FIELDS = { 'total', 'next', 'source', 'audience', 'member', 'born', 'parked', 'paused', 'ending', 'class',
  'priority', 'again', 'passed', 'guarded' }

local function load_spec(base, id)
  local spec = read_fields(base .. 'spec:' .. id, SPEC_FIELDS)
  if not spec.total then return nil end
  spec.priority, spec.needs_resend = tonumber(spec.priority or '5'), spec.again == '1'
  return spec
end
