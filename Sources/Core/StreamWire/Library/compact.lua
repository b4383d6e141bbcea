-- Compact jobs: from its hand-over to its result, a usual push to one recipient is one text.
--   compact:<worker>    hash: id -> "<epoch> <started_ms>" of the compact jobs that the worker holds
--   compact             hash: id -> the arguments of intake, as one text
-- A job is compact from its intake on, if that gives it to the worker at once, and until its result. What happens to it
-- besides first expands it: its hash, spec, recipient and batch are written as `intake` writes them, and every other
-- function works with these. Its public hash then shows it; else it appears with the result.
--
-- A text is "<length>,<length>,...:<words>", the words one after the other. Without an entry in compact:<worker> it is of
-- a hand-over that failed, and means nothing.
--
-- Short calls are parts of `intakes` and `records` whose number of words is negative:
--   of intakes   entry, id ('' without one of the producer), text. Answered by 'taken <epoch> <started_ms> <permits>', or
--                like the intake that the text holds
--   of records   id, entry ('' where it is the id), what compact:<worker> has of it, worker, keep_ms, letter, objects,
--                prints, number of pairs for the job's hash, number of feedback entries (0 or 1), and these: the pairs,
--                recipient's kind, recipient, action, replacement, error; then pairs that the entry of `results` gets, too
-- All short calls of one call come from one worker.

do

-- The first words of a text; all of them without `most`.
local function words_of(text, most)
  local lengths, at = string.match(text, '^([%d,]*):()')
  local words = {}
  for length in string.gmatch(lengths, '%d+') do
    words[#words + 1] = string.sub(text, at, at + tonumber(length) - 1)
    at = at + tonumber(length)
    if #words == most then break end
  end
  return words
end

-- Writes a compact job as every other function knows it. Returns whether there was one. Not part of a step: each write
-- before the last leaves a job that is expanded again.
function compact.expand(base, id)
  local text = redis.call('HGET', base .. 'compact', id)
  if not text then return false end
  local args = words_of(text)
  local worker = args[6]
  local held = redis.call('HGET', base .. 'compact:' .. worker, id)
  if held then
    local epoch, started_ms = string.match(held, '^(%d+) (%d+)$')
    handover.write_taken(base, args, epoch, started_ms)
    write('SADD', base .. 'jobs_open', id)
    write('SADD', base .. 'claims:' .. worker, id .. '/0')
    write('HDEL', base .. 'compact:' .. worker, id)
  end
  write('HDEL', base .. 'compact', id)
  return held and true or false
end

-- Expands the compact jobs of a worker, but not those of `known`, a set of names of batches. Returns whether one could not
-- be expanded, and is stuck.
function compact.expand_all(base, worker, known)
  local has_stuck = false
  for _, id in ipairs(redis.call('HKEYS', base .. 'compact:' .. worker)) do
    if not (known and known[id .. '/0']) then
      local is_made, raised = pcall(compact.expand, base, id)
      if not is_made then
        stuck_jobs[id], has_stuck = error_of(raised).err, true
      end
    end
  end
  return has_stuck
end

-- The holder of one compact job; nil when there is no such job.
function compact.any_holder(base)
  local _, text = unpack(redis.call('HRANDFIELD', base .. 'compact', 1, 'WITHVALUES'))
  return text and words_of(text, 6)[6]
end

-- Which of the new jobs may be taken: not one whose id is known, or whose entry is no longer in `jobs`. Usually one EXISTS
-- and one XPENDING decide. `entries`, `ids`: of the jobs, whose id is the entry's or a producer's. Returns a set of places.
local function takeable(base, entries, ids)
  local keys, own, pending, places = {}, {}, {}, {}
  local spec, rolled, seen, job = base .. 'spec:', base .. 'rolled:', base .. 'seen:', base .. 'job:'
  for i, id in ipairs(ids) do
    keys[#keys + 1] = spec .. id
    keys[#keys + 1] = rolled .. id
    if id ~= entries[i] then
      keys[#keys + 1] = seen .. id
      keys[#keys + 1] = job .. id
    end
  end
  local is_any = redis.call('EXISTS', unpack(keys)) > 0
  local known = redis.call('HMGET', base .. 'compact', unpack(ids))
  local list = redis.pcall('XPENDING', base .. 'jobs', 'fanfare', entries[1], entries[#entries], #entries)
  for _, found in ipairs(list.err and {} or list) do pending[found[1]] = true end
  for i, id in ipairs(ids) do
    local is_known = known[i] or own[id] or stuck_jobs[id]
      or is_any and redis.call('EXISTS', spec .. id, rolled .. id, seen .. id, job .. id) > 0
    own[id] = true
    if not is_known and (pending[entries[i]] or handover.is_in_jobs(base, entries[i], true)) then places[i] = true end
  end
  return places
end

-- Takes new jobs for the worker that has read them, and sets the replies of their calls. `short`: the calls.
local function take_jobs(base, short, args, replies, common, entries, ids)
  local first = words_of(args[short[1].at + 3], 16)
  local worker, dedupe_ms, quota = first[6], first[4], first[14]
  local places, texts, held_pairs, taken = takeable(base, entries, ids), {}, {}, {}
  for i, call in ipairs(short) do
    if places[i] then
      texts[#texts + 1] = ids[i]
      texts[#texts + 1] = args[call.at + 3]
    end
  end
  if #texts == 0 then return end
  local held = next_epoch(base, common.now, common.control, common.wall) .. ' ' .. int(common.wall)
  local permits = lend(base, common.control, lowest_quota(common.control, tonumber(quota)), common.now,
    { returned = 0, single = #texts / 2, fanout = 0 })
  write('HSET', base .. 'compact', unpack(texts))
  local with, without = 'taken ' .. held .. ' 1', 'taken ' .. held .. ' 0'
  for i, call in ipairs(short) do
    if places[i] then
      local entry, id = entries[i], ids[i]
      if id ~= entry then write('SET', base .. 'seen:' .. id, entry, 'PX', dedupe_ms) end
      taken[#taken + 1] = entry
      held_pairs[#held_pairs + 1] = id
      held_pairs[#held_pairs + 1] = held
      common.jobs[entry] = true
      replies[call.place] = #taken <= permits and with or without
    end
  end
  common.held, common.entries = { [worker] = held_pairs }, { all = taken }
  set_control(common.control, 'left', int((tonumber(common.control.left) or 0) + #taken))
end

-- Takes the jobs of the short calls of one call. Returns the arguments of intake for a call without a reply.
function compact.take(base, short, args, replies, common)
  local first = words_of(args[short[1].at + 3], 16)
  handover.read_time(base, common, first[16])
  local probe = { worker = first[6], connection = first[15], class = 'single', expires_at = 0 }
  if redis.call('EXISTS', base .. 'unwanted', base .. 'singles') == 0
    and not handover.must_queue(base, probe, common, true) then
    local entries, ids = {}, {}
    for i, call in ipairs(short) do
      local entry, own = args[call.at + 1], args[call.at + 2]
      entries[i], ids[i] = entry, own ~= '' and own or entry
    end
    take_jobs(base, short, args, replies, common, entries, ids)
  end
end

-- The arguments of intake for a short call.
function compact.long_intake(args, at)
  return words_of(args[at + 3])
end

-- The arguments of record for a short call.
function compact.long_record(args, at)
  local id, _, held, worker, _, letter, objects, prints, pairs_count, feedback = unpack(args, at + 1, at + 10)
  local long = { id, '0', string.match(held, '^%d+'), worker, '', '1', '0', '0', '', '0', '0', '0', '', '[0]', letter,
    objects, '0', feedback, '1', '1', '0', '0' }
  local from = at + 11 + 2 * tonumber(pairs_count)
  if feedback == '1' then
    long[#long + 1] = '0'
    for i = from, from + 4 do long[#long + 1] = args[i] end
  end
  for i = at + 11, from - 2, 2 do
    local failure = string.match(args[i], '^error%.(.*)$')
    if failure then add_pair(long, 'errors', failure .. ' a') end
    if args[i] == 'maybe_dup' then add_pair(long, 'flagged', '1') end
  end
  if prints ~= '' then add_pair(long, 'prints', prints) end
  return long
end

-- When a job was pushed, as a text.
local function created_ms(entry, wall)
  local text = string.match(entry, '^%d+')
  local at = handover.pushed_at(entry, wall)
  return at == wall and int(wall) or text
end

local ONE, NONE = '1', '0'

-- Writes the result of a compact job and its public hash. finish_records forgets the job itself. `last`: the place of the
-- call's last word.
local function write_result(base, args, at, last, common)
  local id, entry, held, _, keep_ms, letter, objects, prints, pairs_count, feedback = unpack(args, at + 1, at + 10)
  local pairs_end = at + 10 + 2 * tonumber(pairs_count)
  if objects ~= '' then
    local rest = pairs_end + 5 * tonumber(feedback) + 1
    common.newest = redis.call('XADD', base .. 'results', '*', 'job', id, 'results', objects, unpack(args, rest, last))
    if prints ~= '' then common.prints[#common.prints + 1] = prints end
  end
  if feedback == '1' then
    local kind, recipient, action, replacement, problem = unpack(args, pairs_end + 1, pairs_end + 5)
    redis.call('XADD', base .. 'feedback', '*', kind, recipient, 'action', action, 'replacement', replacement, 'error',
      problem, 'job', id)
  end
  local wall, status = common.ended_at, string.lower(letter)
  local key, is_own = base .. 'job:' .. id, entry ~= ''
  redis.call('HSET', key, 'state', 'done', 'total', ONE, 'sent', status == 's' and ONE or NONE, 'failed',
    status == 'f' and ONE or NONE, 'unknown', status == 'u' and ONE or NONE, 'cancelled', NONE, 'expired', NONE,
    'retrying', NONE, 'maybe_dup', NONE, 'duplicates', NONE, 'created_ms', created_ms(is_own and entry or id, common.wall),
    'started_ms', string.match(held, '%d+$'), 'first_pass_ms', wall, 'finished_ms', wall, unpack(args, at + 11, pairs_end))
  redis.call('PEXPIRE', key, keep_ms)
  if is_own then
    collect(common, 'finished', 'all', wall)
    collect(common, 'finished', 'all', id)
  end
  common.over_ids[id] = true
  common.over_counts[status] = (common.over_counts[status] or 0) + 1
  for i = at + 11, pairs_end, 2 do
    if args[i] == 'maybe_dup' then common.over_flagged = common.over_flagged + 1 end
  end
end

-- Writes the results of the short calls of one call, and sets their replies. A job that is no longer compact in the worker's
-- hands gets none, and is recorded like any other.
function compact.finish(base, short, args, replies, common)
  local ids, worker, forgotten = {}, args[short[1].at + 4], {}
  for i, call in ipairs(short) do ids[i] = args[call.at + 1] end
  local held = redis.call('HMGET', base .. 'compact:' .. worker, unpack(ids))
  common.wall = wall_ms()
  common.ended_at, common.prints = int(common.wall), {}
  check_rights(base, 'record')
  for i, call in ipairs(short) do
    local at, id = call.at, ids[i]
    if held[i] == args[at + 3] and args[at + 4] == worker and not common.over_ids[id] and not stuck_jobs[id] then
      local is_made, raised = pcall(write_result, base, args, at, at + call.count, common)
      if is_made then
        forgotten[#forgotten + 1] = id
        replies[call.place] = 'ok'
      else
        replies[call.place] = clean_up(base, raised)
      end
    end
  end
  if #forgotten > 0 then common.forgotten = { [worker] = forgotten } end
  if #common.prints > 0 then parts.index_results(base, common.newest, common.prints) end
end

end
