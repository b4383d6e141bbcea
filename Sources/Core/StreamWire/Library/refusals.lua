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
-- Workers that hold recipients that were not refused have so many ms to send the probe; then a refused one is probed.
local PATIENCE_MS = 10000
-- So many recipients that are due are read to choose a probe.
local PROBE_CHOICE = 100
-- So many credentials are remembered as accepted.
local MOST_PROVEN = 4

-- The reason that a job shows while a refused recipient waits begins so.
local REFUSED = 'refused: '

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
  write('HDEL', base .. 'ctl', 'block', 'block_until')
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

-- Shows that a job waits because the project is blocked. Part of a step. Returns whether it did.
local function pause_for_block(base, id, reason)
  local spec = load_spec(base, id)
  if not spec or spec.paused or spec.parked or spec.ending then return false end
  write('SADD', base .. 'blocked', id)
  write('HSET', base .. 'job:' .. id, 'state', 'paused', 'reason', reason)
  return true
end

-- Adds refused recipients to those that were refused since the last accepted send. Returns "<hash>/<job>" of each.
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
    add_mark(base, 'block', reason)
    write('HSET', control, 'block', reason, 'block_until', int(flush.now() + PROBE_MS))
    block = reason
    for _, doubt in ipairs(doubts) do
      local other = string.match(doubt, '/(.*)$')
      if other ~= id and not stuck_jobs[other] then pause_for_block(base, other, reason) end
    end
  end
  if call.retries == 0 or flush.job.state == 'parked' or flush.spec.paused then return end
  if block then
    if pause_for_block(base, id, reason) then
      flush.job.reason, flush.job.state, flush.is_listed = reason, 'paused', true
    end
  elseif not flush.job.reason or string.sub(flush.job.reason, 1, #REFUSED) == REFUSED then
    flush.job.reason = REFUSED .. reason
    write('HSET', base .. 'job:' .. id, 'reason', flush.job.reason)
  end
end

-- Removes the reason that refused recipients gave a job, once none waits. Part of a step.
function refusals.clear_refusal(base, id, flush)
  local reason = flush.job.reason
  if reason and string.sub(reason, 1, #REFUSED) == REFUSED then write('HDEL', base .. 'job:' .. id, 'reason') end
end

-- Whether a worker holds a batch, or an entry waits to be taken: a recipient of it may be the probe.
local function has_other_holders(base)
  if redis.call('XLEN', base .. 'jobs') > 0 then return true end
  for _, worker in ipairs(redis.call('HKEYS', base .. 'leases')) do
    if redis.call('SCARD', base .. 'claims:' .. worker) > 0 then return true end
  end
  return false
end

-- Claims one recipient that is due as the probe: one that FCM has not refused, if there is one. Returns whether it did.
local function claim_probe(plan)
  local before = #plan.claims
  for _, kind in ipairs({ 'fresh', 'any' }) do
    for _, set in ipairs(DUE_SENDS) do
      for _ = 1, kind == 'any' and 20 or 1 do
        if #plan.claims > before or redis.call('ZCOUNT', plan.base .. set, '-inf', int(plan.now)) == 0 then break end
        claim_due(plan, set, PROBE_CHOICE, 1, kind)
      end
    end
  end
  return #plan.claims > before
end

-- Whether the project has a recipient that may be sent to.
local function has_sends(base)
  return redis.call('EXISTS', base .. DUE_UNSENT, base .. DUE_RETRY, base .. DUE_FANOUT_RETRY, base .. 'singles',
    base .. 'groups', base .. 'queue', base .. 'active', base .. 'orphans') > 0
end

-- The next probe is due a minute from now, so there is one at a time.
local function defer_probe(plan)
  write('HSET', plan.base .. 'ctl', 'block_until', int(plan.now + PROBE_MS))
  return PROBE_MS
end

-- No recipient is due as a probe. Returns the ms until the next try; 0 and no block when none is left.
local function wait_for_probe(plan, is_left)
  if is_left then return 1 end
  unblock(plan.base)
  return 0
end

-- Claims of a blocked project. `state`: `block_until`; `held`: how many recipients that were not refused the worker holds,
-- nil from an older worker, which claims the probe alone. `take`: functions that claim from queues and sets. Returns the
-- ms until the next probe; 0 when no recipient is left to probe with, which ends the block. `state.is_probe`: the worker
-- may send one of those that it holds as the probe.
--
-- A worker keeps one batch at hand, so that the probe is a recipient that was not refused, if there is one. Refused
-- recipients that are due go through a worker, which ends those whose time is over. They are the probe in turn when no
-- other recipient is left.
function refusals.claim_while_blocked(plan, state, take)
  local base, wait, held = plan.base, tonumber(state.block_until) - plan.now, state.held
  if not held then
    if wait > 0 then return wait end
    return claim_probe(plan) and defer_probe(plan) or wait_for_probe(plan, false)
  end
  if held > 0 then
    if wait > 0 then return wait end
    state.is_probe = true
    return defer_probe(plan)
  end
  -- A broadcast that is sent again comes from the slot.
  plan.is_probe_due = wait <= 0
  take.orphans(plan)
  take.queues(plan)
  take.active(plan)
  if plan.has_probe then return defer_probe(plan) end
  if #plan.claims > 0 then return math.max(1, wait) end
  if wait > 0 then
    take.due_sends(plan)
    return wait
  end
  local has_others = has_other_holders(base)
  if has_others and wait > -PATIENCE_MS then return 1 end
  if claim_probe(plan) then return defer_probe(plan) end
  return wait_for_probe(plan, has_others or has_sends(base))
end

end
