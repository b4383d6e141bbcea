-- Compact jobs: from its hand-over to its result, a usual push to one recipient is one text.
--   compact:<worker>    hash: id -> "<epoch> <started_ms>" of the compact jobs that the worker holds
--   compact             hash: id -> the arguments of intake, as one text
-- A job is compact from its intake on, if that gives it to the worker at once, and until its result. What happens to it
-- besides first expands it: its hash, spec, recipient and batch are written as `intake` writes them, and every other
-- function works with these. Its public hash then shows it; else it appears with the result.
--
-- A text is "<length>,<length>,...:<words>", the words one after the other: the arguments of intake in their order.
-- Between calls, a text without a note in compact:<worker> is of a hand-over that failed: its entry is in `jobs`. What a
-- careless hand did here stops no other job: a job without a whole text goes to `dead` when no worker has it, a job
-- without a note is taken from its worker.
--
-- Short calls are parts of `intakes` and `records` whose number of words is negative:
--   of intakes   entry, id ('' without one of the producer), text. Answered by 'taken <epoch> <started_ms> <permits>'
--   of records   id, entry ('' where it is the id), what compact:<worker> has of it, worker, keep_ms, letter, objects,
--                prints, number of pairs for the job's hash, number of feedback entries (0 or 1), and these: the pairs,
--                recipient's kind, recipient, action, replacement, error; then pairs for the entry of `results`.
--                With an empty letter, of a recipient that waits for its retry: when it is due, its value of wait:<id>
-- All short calls of one call come from one worker: it sends them before it registers under another name. A short call
-- whose job cannot be compact, or no longer is, is made as the long call that it stands for.

do

-- Names of the first words of a text: the arguments of intake. The spec's pairs and the recipient follow.
local NAMES = { 'entry', 'id', 'has_own_id', 'dedupe_ms', 'keep_ms', 'worker', 'window', 'total', 'audience',
  'not_before', 'expires_at', 'member', 'class', 'quota', 'connection', 'worker_clock', 'pairs_count' }

-- The words of a text, and the place after the last of them; only the first words with `most`. None if it is no text.
function compact.words_of(text, most)
  local lengths, at = string.match(text, '^([%d,]*):()')
  local words = {}
  for length in string.gmatch(lengths or '', '%d+') do
    words[#words + 1] = string.sub(text, at, at + tonumber(length) - 1)
    at = at + tonumber(length)
    if #words == most then break end
  end
  return words, at
end

-- The first words of a text by their names.
local function head_of(words)
  local head = {}
  for i, name in ipairs(NAMES) do head[name] = words[i] end
  return head
end

-- The words of a job's whole text, and its head; nil if it is broken, or of a later version.
local function read_text(text, id)
  local words, after = compact.words_of(text)
  local head = head_of(words)
  local pairs_count = tonumber(head.pairs_count)
  local is_whole = pairs_count and after == #text + 1 and #words == #NAMES + 2 * pairs_count + 1 and head.id == id
    and tonumber(head.keep_ms) and tonumber(head.window) and string.find(head.entry, '^%d+%-%d+$')
  if is_whole then return words, head end
end

-- The epoch and the time in a note; nil if it is none. A further word is of a job whose expansion has begun.
local function read_note(note)
  local epoch, started_ms = string.match(note or '', '^(%d+) (%d+)')
  if epoch and #epoch < 16 and #started_ms < 16 then return epoch, started_ms end
end

-- Whether an expansion of the job was whole: its text is all that is left.
local function was_expanded(base, id)
  local state = redis.call('HGET', base .. 'job:' .. id, 'state')
  return state and (state ~= 'active' or redis.call('SISMEMBER', base .. 'jobs_open', id) == 1)
end

-- Whether a job without a note, or with a broken one, was handed over. Else its hand-over failed, and its entry is still
-- in `jobs`; or it has been expanded.
local function was_taken(base, head, note)
  return note or not (was_expanded(base, head.id) or handover.is_in_jobs(base, head.entry))
end

-- Takes a job without a note from its worker, whose results are late then, and count.
local function free_noteless(base, args, head)
  local now, wall = project_ms(base)
  -- After an error the job is found so again, though it has keys by then.
  write('HSET', base .. 'compact:' .. head.worker, head.id, 'lost')
  handover.write_taken(base, args, next_epoch(base, now), int(wall))
  in_step(base, head.id, function()
    write('SADD', base .. 'jobs_open', head.id)
    orphan(base, head.id .. '/0', now)
    write('HDEL', base .. 'compact:' .. head.worker, head.id)
    write('HDEL', base .. 'compact', head.id)
  end)
end

-- Writes a compact job as every other function knows it. Returns whether there was one. Not part of a step: after an
-- error it is still compact, no short call ends it, and it is expanded again as if nothing were written.
function compact.expand(base, id)
  local text = redis.call('HGET', base .. 'compact', id)
  if not text then return false end
  local args, head = read_text(text, id)
  if not args then
    error('ERR the text of job ' .. id .. ' in ' .. base
      .. 'compact is broken: the job goes to dead once no worker has it', 0)
  end
  local notes = base .. 'compact:' .. head.worker
  local note = redis.call('HGET', notes, id)
  local epoch, started_ms = read_note(note)
  if not epoch and was_taken(base, head, note) then
    free_noteless(base, args, head)
    return true
  end
  if epoch then
    write('HSET', notes, id, epoch .. ' ' .. started_ms .. ' expanding')
    handover.write_taken(base, args, epoch, started_ms)
    write('SADD', base .. 'jobs_open', id)
    write('SADD', base .. 'claims:' .. head.worker, id .. '/0')
    write('HDEL', notes, id)
  end
  write('HDEL', base .. 'compact', id)
  return epoch and true or false
end

-- For how long `dead` and the job's hash name a compact job that was lost.
local KEPT_AFTER_LOSS = 7 * 24 * HOUR

-- Moves a job without a whole text to `dead`, with the text that is left: it may have been sent, and cannot be sent
-- again. `worker`: the one whose note it has; nil if there is none.
local function give_up(base, id, worker, text)
  handover.write_dead(base, { id = id, entry = string.find(id, '^%d+%-%d+$') and id or '', keep_ms = KEPT_AFTER_LOSS,
    reason = 'lost: its text in Redis is broken or missing, and no worker has it; it may have been sent' },
    { 'text', text }, function()
      local left = tonumber(redis.call('HGET', base .. 'ctl', 'left')) or 0
      write('HSET', base .. 'ctl', 'left', int(math.max(0, left - 1)))
      if worker then write('HDEL', base .. 'compact:' .. worker, id) end
      write('HDEL', base .. 'compact', id)
    end)
end

-- Takes a compact job from a worker that gives it back or is gone.
local function free(base, id, worker)
  local text = redis.call('HGET', base .. 'compact', id)
  if text and read_text(text, id) then return compact.expand(base, id) end
  -- The note of a job that has its keys is one too many.
  if not text and was_expanded(base, id) then return write('HDEL', base .. 'compact:' .. worker, id) end
  give_up(base, id, worker, text or '')
end

-- Expands at most `limit` compact jobs of a worker, except jobs whose batch is in `known`, a set of names. Returns
-- whether it keeps some: there are more, or one cannot be expanded, and is stuck.
function compact.expand_all(base, worker, limit, known)
  local count, keeps_some = 0, false
  local ids = redis.pcall('HKEYS', base .. 'compact:' .. worker)
  if ids.err then return true end
  for _, id in ipairs(ids) do
    if count >= limit then return true end
    if not (known and known[id .. '/0']) then
      count = count + 1
      local is_made, reply = try(base, free, id, worker)
      if not is_made then
        stuck_jobs[id], keeps_some = reply.err, true
      end
    end
  end
  return keeps_some
end

-- Whether a worker has a note of the job. `holders` may have lost a name.
local function is_noted(base, id)
  for _, workers in ipairs({ redis.call('SMEMBERS', base .. 'holders'), redis.call('HKEYS', base .. 'leases') }) do
    for _, worker in ipairs(workers) do
      if redis.pcall('HEXISTS', base .. 'compact:' .. worker, id) ~= 0 then return true end
    end
  end
  return false
end

-- A job that has no result after this time waits for something, and its producer may see it.
local SHOWN_AFTER = 2000

-- Expands a compact job if it waits for longer than `limit` ms; gives it up if its text is broken and no worker has it.
-- Returns whether it did.
local function show(base, id, text, limit)
  local worker = head_of(compact.words_of(text, 6)).worker
  local _, started_ms = read_note(worker and redis.call('HGET', base .. 'compact:' .. worker, id))
  if started_ms and wall_ms() - started_ms <= limit then return false end
  if read_text(text, id) then
    -- See free_lost.
    if redis.call('HEXISTS', base .. 'leases', worker) == 0 then write('SADD', base .. 'holders', worker) end
    compact.expand(base, id)
  elseif is_noted(base, id) then
    return false
  else
    give_up(base, id, nil, text)
  end
  return true
end

-- Expands compact jobs that wait: some of them, if one that is chosen by chance does. While there is an older worker,
-- which could not take them over, every job counts as waiting. Called five times a second.
function compact.show_waiting(base)
  local size, limit = 1, nil
  while size do
    local found, waiting = redis.call('HRANDFIELD', base .. 'compact', size, 'WITHVALUES'), 0
    if #found > 0 then limit = limit or compact.has_older_worker(base) and -math.huge or SHOWN_AFTER end
    for i = 1, #found, 2 do
      -- A job that cannot be expanded now stays compact, and stops no claim.
      local is_made, is_shown = try(base, show, found[i], found[i + 1], limit)
      if is_made and is_shown then waiting = waiting + 1 end
    end
    size = size == 1 and waiting == 1 and 100 or nil
  end
end

-- Which of the new jobs may be taken: not one whose id is known, or whose entry is no longer in `jobs`. Usually one
-- EXISTS and one XPENDING decide. `entries`, `ids`, `owned`: of the jobs; whether the producer gave the id. `others`:
-- ids of the call's other intakes. Returns a set of places.
local function takeable(base, entries, ids, owned, others)
  local keys, is_single, pending, places = {}, {}, {}, {}
  local spec, rolled, seen, job = base .. 'spec:', base .. 'rolled:', base .. 'seen:', base .. 'job:'
  -- Of two entries with one id neither is compact: the second is counted as a duplicate.
  for _, id in ipairs(others) do is_single[id] = false end
  for i, id in ipairs(ids) do
    is_single[id] = is_single[id] == nil
    keys[#keys + 1] = spec .. id
    keys[#keys + 1] = rolled .. id
    if owned[i] then
      keys[#keys + 1] = seen .. id
      keys[#keys + 1] = job .. id
    end
  end
  local is_any = redis.call('EXISTS', unpack(keys)) > 0
  local known = redis.call('HMGET', base .. 'compact', unpack(ids))
  local earliest = unpack(entries)
  local list = redis.pcall('XPENDING', base .. 'jobs', 'fanfare', earliest, entries[#entries], #entries)
  for _, found in ipairs(list.err and {} or list) do
    local entry = unpack(found)
    pending[entry] = true
  end
  for i, id in ipairs(ids) do
    local is_known = known[i] or not is_single[id] or stuck_jobs[id]
      or is_any and redis.call('EXISTS', spec .. id, rolled .. id, seen .. id, job .. id) > 0
    if not is_known and (pending[entries[i]] or handover.is_in_jobs(base, entries[i], true)) then places[i] = true end
  end
  return places
end

-- Takes new jobs for the worker that has read them, and sets the replies of their calls. `head`: of the first call's
-- text; what is read of it here is alike in all texts. `new`: the jobs; see takeable.
local function take_jobs(base, short, args, replies, common, head, new)
  local entries, ids, owned = new.entries, new.ids, new.owned
  local places, texts, notes, taken = takeable(base, entries, ids, owned, new.others), {}, {}, {}
  for i, call in ipairs(short) do
    if places[i] then
      texts[#texts + 1] = ids[i]
      texts[#texts + 1] = args[call.at + 3]
    end
  end
  if #texts == 0 then return end
  local note = next_epoch(base, common.now, common.control, common.wall) .. ' ' .. int(common.wall)
  local permits = lend(base, common.control, lowest_quota(common.control, tonumber(head.quota)), common.now,
    { returned = 0, single = #texts / 2, fanout = 0 })
  write('HSET', base .. 'compact', unpack(texts))
  for i in ipairs(short) do
    if places[i] and owned[i] then write('SET', base .. 'seen:' .. ids[i], entries[i], 'PX', head.dedupe_ms) end
  end
  local with, without = 'taken ' .. note .. ' 1', 'taken ' .. note .. ' 0'
  for i, call in ipairs(short) do
    if places[i] then
      taken[#taken + 1] = entries[i]
      notes[#notes + 1] = ids[i]
      notes[#notes + 1] = note
      common.jobs[entries[i]] = true
      replies[call.place] = #taken <= permits and with or without
    end
  end
  common.notes, common.entries = { [head.worker] = notes }, { all = taken }
  set_control(common.control, 'left', int((tonumber(common.control.left) or 0) + #taken))
end

-- Takes the jobs of the short calls of one call, and sets the calls' replies. A call without one is made as the intake
-- that it stands for.
function compact.take(base, short, others, args, replies, common)
  local earliest = unpack(short)
  local head = head_of(compact.words_of(args[earliest.at + 3], #NAMES))
  handover.read_time(base, common, head.worker_clock)
  local probe = { worker = head.worker, connection = head.connection, class = 'single', expires_at = 0 }
  if redis.call('EXISTS', base .. 'unwanted', base .. 'singles') == 0
    and not handover.must_queue(base, probe, common, true)
    and not wrong_type(base .. 'compact:' .. head.worker, 'hash') then
    local new = { entries = {}, ids = {}, owned = {}, others = {} }
    for i, call in ipairs(short) do
      local entry, own = args[call.at + 1], args[call.at + 2]
      new.entries[i], new.ids[i], new.owned[i] = entry, own ~= '' and own or entry, own ~= ''
    end
    for i, at in ipairs(others) do new.others[i] = args[at + 2] end
    take_jobs(base, short, args, replies, common, head, new)
  end
end

-- The arguments of intake for a short call.
function compact.long_intake(args, at)
  return (compact.words_of(args[at + 3]))
end

end
