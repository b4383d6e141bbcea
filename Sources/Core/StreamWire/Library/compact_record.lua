-- Short calls of `records`: the results and the retries of compact jobs; see compact.lua.

do

-- The arguments of record for a short call.
function compact.long_record(args, at)
  local id, _, note, worker, _, letter, objects, prints, pairs_count, feedback, due, value = unpack(args, at + 1, at + 12)
  local is_retry = letter == ''
  local long = { id, '0', string.match(note, '^%d+'), worker, '', '1', '0', '0', '', '0', '0', '0', '',
    is_retry and '[]' or '[0]', letter, objects, is_retry and '1' or '0', feedback, '1', '1', '0', '' }
  if is_retry then
    for _, word in ipairs({ '0', due, '0', value }) do long[#long + 1] = word end
    return long
  end
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

-- Writes the result of a compact job and its public hash. finish_records forgets the job itself. `last`: the place of
-- the call's last word.
local function write_result(base, args, at, last, common)
  local id, entry, note, _, keep_ms, letter, objects, prints, pairs_count, feedback = unpack(args, at + 1, at + 10)
  local pairs_end, key = at + 10 + 2 * tonumber(pairs_count), base .. 'job:' .. id
  -- An entry of `results` before an error would be written again by each repeated call.
  local found = failed_at[base] and wrong_type(key, 'hash')
  if found then error('WRONGTYPE ' .. key .. ' is a ' .. found .. ', must be a hash', 0) end
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
  local wall, status, is_own = common.ended_at, string.lower(letter), entry ~= ''
  redis.call('HSET', key, 'state', 'done', 'total', ONE, 'sent', status == 's' and ONE or NONE, 'failed',
    status == 'f' and ONE or NONE, 'unknown', status == 'u' and ONE or NONE, 'cancelled', NONE, 'expired', NONE,
    'retrying', NONE, 'maybe_dup', NONE, 'duplicates', NONE, 'created_ms',
    created_ms(is_own and entry or id, common.wall), 'started_ms', string.match(note, '%d+$'), 'first_pass_ms', wall,
    'finished_ms', wall, unpack(args, at + 11, pairs_end))
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

-- Writes a compact job whose recipient waits for its retry as every other function knows it. finish_records lists it,
-- and forgets that it was compact. Until then, it is expanded again after an error. Returns false if there is none.
local function write_retry(base, args, at, _, common)
  local id, _, note = unpack(args, at + 1, at + 3)
  local due, value = unpack(args, at + 11, at + 12)
  local text = redis.call('HGET', base .. 'compact', id)
  if not text then return false end
  handover.write_taken(base, compact.words_of(text), nil, string.match(note, '%d+$'))
  redis.call('HSET', base .. 'job:' .. id, 'state', 'retrying', 'retrying', ONE, 'first_pass_ms', common.ended_at)
  redis.call('HSET', base .. 'spec:' .. id, 'passed', ONE)
  redis.call('HSET', base .. 'wait:' .. id, NONE, value)
  collect(common, 'waiting', 'ids', id)
  collect(common, 'waiting', 'due', due)
  collect(common, 'waiting', 'due', id .. '/0')
  common.over_ids[id] = true
end

-- Writes the results of the short calls of one call, and sets their replies. A job that is no longer compact in the
-- worker's hands gets none, and is recorded like any other.
function compact.record(base, short, _, args, replies, common)
  local earliest = unpack(short)
  local ids, worker, forgotten = {}, args[earliest.at + 4], {}
  for i, call in ipairs(short) do ids[i] = args[call.at + 1] end
  local notes = redis.call('HMGET', base .. 'compact:' .. worker, unpack(ids))
  common.wall = wall_ms()
  common.ended_at, common.prints = int(common.wall), {}
  check_rights(base, 'record')
  for i, call in ipairs(short) do
    local at, id = call.at, ids[i]
    if notes[i] == args[at + 3] and args[at + 4] == worker and not common.over_ids[id] and not stuck_jobs[id] then
      local write_part = args[at + 6] == '' and write_retry or write_result
      local is_made, result = pcall(write_part, base, args, at, at + call.count, common)
      if not is_made then
        replies[call.place] = clean_up(base, result)
      elseif result ~= false then
        forgotten[#forgotten + 1] = id
        replies[call.place] = 'ok'
      end
    end
  end
  if #forgotten > 0 then common.forgotten = { [worker] = forgotten } end
  if #common.prints > 0 then parts.index_results(base, common.newest, common.prints) end
end

end
