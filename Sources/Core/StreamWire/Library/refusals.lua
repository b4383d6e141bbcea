-- Refusals that may be of the project or of one recipient: 401, 403 and 404 without FCM's own code. One of them proves
-- nothing about the rest; see the page Guarantees.

-- `refusals` holds the functions that other files call, as one local.
local unblock, refusals
do

refusals = {}

-- So many different recipients are refused in a row, without an accepted send between them, before the project is blocked.
local REFUSALS_TO_BLOCK = 5
-- A blocked project is probed once in so many ms.
local PROBE_MS = 60000
-- So many credentials are remembered as accepted.
local MOST_PROVEN = 4

-- The reason that a job shows while a refused recipient waits begins so.
local REFUSED = 'refused: '

-- Whether FCM has refused a recipient of the job since the project is blocked.
function refusals.has_refused(base, id) return redis.call('SISMEMBER', base .. 'blocked', id) == 1 end

-- Whether a claim leaves the job out, to take recipients of other jobs first.
function refusals.is_spared(plan, id) return plan.spares_refused and refusals.has_refused(plan.base, id) end

-- Ends the project's block: the jobs that waited for it continue.
function unblock(base)
  for _, id in ipairs(redis.call('SMEMBERS', base .. 'blocked')) do
    local job = base .. 'job:' .. id
    local spec = load_spec(base, id)
    if spec and not spec.paused and redis.call('HGET', job, 'state') == 'paused' then
      write_free_state(base, id, spec)
    end
  end
  write('DEL', base .. 'blocked')
  write('HDEL', base .. 'ctl', 'block', 'block_until', 'unprobed')
end

-- Blocks the project, or starts its block again. Part of a step. `is_unprobed`: the first probes may go at once, one to a
-- recipient of a job that FCM has not refused, and one to another recipient of a refused job.
function refusals.block(base, reason, now, is_unprobed)
  local control = base .. 'ctl'
  if redis.call('HEXISTS', control, 'block') == 0 then add_mark(base, 'block', reason) end
  write('HSET', control, 'block', reason, 'block_until', int(now + PROBE_MS))
  if is_unprobed then write('HSET', control, 'unprobed', '1') else write('HDEL', control, 'unprobed') end
end

-- Remembers the fingerprint of a credential that had an accepted send. Harmless when repeated.
function refusals.prove_credential(base, fingerprint)
  local known = redis.call('HGET', base .. 'ctl', 'proven') or ''
  local list = {}
  for other in string.gmatch(known, '%S+') do
    if other == fingerprint then return end
    list[#list + 1] = other
  end
  list[#list + 1] = fingerprint
  write('HSET', base .. 'ctl', 'proven', table.concat(list, ' ', math.max(1, #list - MOST_PROVEN + 1)))
end

local function has_word(text, word)
  for other in string.gmatch(text or '', '%S+') do
    if other == word then return true end
  end
  return false
end

-- Shows that a job waits because the project is blocked, and tells the workers: they probe another job first. Part of a
-- step. Returns whether it did.
local function pause_for_block(base, id, reason)
  local spec = load_spec(base, id)
  if not spec or spec.paused or spec.parked or spec.ending then return false end
  if not refusals.has_refused(base, id) then append_news(base, 'refused', id, reason) end
  write('SADD', base .. 'blocked', id)
  write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', reason)
  return true
end

-- The same for the job of a flush.
function refusals.pause_job(base, id, flush, reason)
  if flush.job.state == 'parked' or flush.spec.paused or not pause_for_block(base, id, reason) then return end
  flush.job.reason, flush.job.state, flush.is_listed = reason, 'paused', true
end

-- Adds refused recipients to the list of recipients refused since the last accepted send. Returns "<hash>/<job>" of
-- each.
local function add_doubts(base, id, known, refused)
  local doubts, hashes = {}, {}
  for doubt in string.gmatch(known or '', '%S+') do
    doubts[#doubts + 1] = doubt
    hashes[string.match(doubt, '^%x+')] = true
  end
  for hash in string.gmatch(refused or '', '%x+') do
    if not hashes[hash] and #doubts < REFUSALS_TO_BLOCK then
      doubts[#doubts + 1] = hash .. '/' .. id
      hashes[hash] = true
    end
  end
  return doubts
end

-- Judges a flush with refusals: blocks the project when they are evidence enough. Part of a step.
-- `call`: `refusal`, why FCM refuses; `refused`, hashes of recipients that were refused after the flush's last accepted
-- send, and count as evidence; `credential`, its fingerprint; `retries`: how many recipients wait.
function refusals.weigh_refusals(base, id, flush, call)
  local control, reason = base .. 'ctl', call.refusal
  local block, known, proven = unpack(redis.call('HMGET', control, 'block', 'doubted', 'proven'))
  if call.project_answers == '1' then block, known = false, false end
  local doubts = add_doubts(base, id, known, call.refused)
  if call.refused then write('HSET', control, 'doubted', table.concat(doubts, ' ')) end
  local is_first = call.refused and not has_word(proven, call.credential)
  if not block and (is_first or (call.refused and #doubts >= REFUSALS_TO_BLOCK)) then
    refusals.block(base, reason, flush.now(), true)
    block = reason
    for _, doubt in ipairs(doubts) do
      local other = string.match(doubt, '/(.*)$')
      if other ~= id and not stuck_jobs[other] then pause_for_block(base, other, reason) end
    end
  end
  local is_over = tonumber(flush.spec.left) <= flush.fresh
  if is_over or flush.job.state == 'parked' or flush.spec.paused then return end
  if block then
    refusals.pause_job(base, id, flush, reason)
  elseif call.retries > 0 and (not flush.job.reason or string.sub(flush.job.reason, 1, #REFUSED) == REFUSED) then
    flush.job.reason = REFUSED .. reason
    write('HSET', base .. 'job:' .. id, 'reason', flush.job.reason)
  end
end

-- Removes the reason that refused recipients gave a job, once none waits. Part of a step.
function refusals.clear_refusal(base, id, flush)
  local reason = flush.job.reason
  if reason and string.sub(reason, 1, #REFUSED) == REFUSED then write('HDEL', base .. 'job:' .. id, 'reason') end
end

-- A probe is sent: the next one is due a minute from now, so there is one at a time. Returns the ms until then.
function refusals.defer_probe(base, now)
  write('HSET', base .. 'ctl', 'block_until', int(now + PROBE_MS))
  write('HDEL', base .. 'ctl', 'unprobed')
  return PROBE_MS
end

end
