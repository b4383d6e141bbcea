-- The probe of a blocked project: one send a minute.

do

-- Workers that hold recipients that were not refused have so many ms to send the probe; then a refused one is probed.
local PATIENCE_MS = 10000
-- So many recipients of refused jobs a worker keeps at hand.
local MOST_AT_HAND = 20 * BATCH
-- So many recipients that are due are read to choose a probe.
local PROBE_CHOICE = 100

-- Whether a worker holds a batch, or an entry waits to be taken: a recipient of it may be the probe. `except`: a worker
-- that does not count; nil for none.
local function has_other_holders(base, except)
  if redis.call('XLEN', base .. 'jobs') > 0 then return true end
  for _, worker in ipairs(redis.call('HKEYS', base .. 'leases')) do
    if worker ~= except and redis.call('SCARD', base .. 'claims:' .. worker) > 0 then return true end
  end
  return false
end

-- Claims one recipient that is due as the probe, of the first of these kinds that there is; see claim_due. Returns whether
-- it did.
local function claim_probe(plan, kinds)
  local before = #plan.claims
  for _, kind in ipairs(kinds) do
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

-- The worker may send a recipient that it holds as the probe.
local function grant_probe(plan, state)
  state.is_probe = true
  return refusals.defer_probe(plan.base, plan.now)
end

-- No recipient is due as a probe. Returns the ms until the next try; 0 and no block when none is left.
local function wait_for_probe(plan, is_left)
  if is_left then return 1 end
  unblock(plan.base)
  return 0
end

-- Claims what a worker keeps at hand for the probe: of other jobs than the refused ones, and of these only when it
-- holds nothing. A broadcast that is sent again comes from the slot, and is the probe itself.
local function take_at_hand(plan, take, held, is_due, is_unprobed)
  local function claim_first()
    take.orphans(plan)
    take.queues(plan)
    take.active(plan)
  end
  local before = #plan.claims
  plan.spares_refused, plan.is_probe_due = true, is_due or is_unprobed
  claim_first()
  plan.spares_refused, plan.is_probe_due = false, is_due
  if #plan.claims == before and held == 0 then claim_first() end
end

-- Claims another batch beside those at hand, whose recipients were refused: the next one may have others.
local function take_another(plan, take, held)
  plan.most, plan.is_probe_due = math.min(plan.most, #plan.claims + 1), false
  if held < MOST_AT_HAND then take.active(plan) end
end

-- Claims of a worker that says nothing of what it holds. An older one claims the probe alone, and another will know of the
-- block with its next claim.
local function claim_probe_alone(plan, wait, is_older)
  if wait > 0 then return wait end
  if not is_older then return 1 end
  if claim_probe(plan, { 'others', 'fresh', 'any' }) then return refusals.defer_probe(plan.base, plan.now) end
  return wait_for_probe(plan, false)
end

-- Claims of a blocked project. `state`: `block_until`, `unprobed`; `held`: how many recipients that were not refused the
-- worker holds, nil from an older worker and from one that does not know of the block yet; `others`: how many of them are
-- of jobs that FCM has not refused, nil from an older worker. `take`: functions that claim from queues and sets. Returns
-- the ms until the next probe; 0 when no recipient is left to probe with, which ends the block. `state.is_probe`: see
-- grant_probe.
--
-- The probe is the first of these that there is: a recipient of another job than the refused ones, at once after the
-- block began or when one comes; one that was not refused, the first of a block at once; a refused one. Of the jobs of
-- one batch that wait, the newest is probed: a job that came before the block is more likely to be like the refused
-- ones. Each worker keeps one batch for the probe, and takes another one of a refused fan-out for each probe. Refused
-- recipients that are due go through a worker, which ends recipients whose time is over.
function refusals.claim_while_blocked(plan, state, take)
  local base, wait, held = plan.base, tonumber(state.block_until) - plan.now, state.held
  if not held then return claim_probe_alone(plan, wait, not state.grant) end
  local is_due, is_unprobed, before = wait <= 0, state.unprobed, #plan.claims
  local has_others = (state.others or held) > 0
  if is_due or is_unprobed then
    if take.newest(plan) then return refusals.defer_probe(base, plan.now) end
    if has_others then return grant_probe(plan, state) end
  end
  if not has_others then take_at_hand(plan, take, held, is_due, is_unprobed) end
  if plan.has_probe then return refusals.defer_probe(plan.base, plan.now) end
  if #plan.claims > before then return math.max(1, wait) end
  if not is_due then
    if state.unprobed == '1' and held > 0 then
      redis.call('HSET', base .. 'ctl', 'unprobed', 'own')
      take_another(plan, take, held)
      state.is_probe = true
    elseif held < BATCH then
      take.due_sends(plan)
    end
    return wait
  end
  local is_left = has_other_holders(base, held > 0 and plan.worker)
  if is_left and wait > -PATIENCE_MS then return 1 end
  if claim_probe(plan, { 'others' }) then return refusals.defer_probe(plan.base, plan.now) end
  if held > 0 then
    take_another(plan, take, held)
    return grant_probe(plan, state)
  end
  if claim_probe(plan, { 'fresh', 'any' }) then return refusals.defer_probe(plan.base, plan.now) end
  return wait_for_probe(plan, is_left or has_sends(base))
end

end
