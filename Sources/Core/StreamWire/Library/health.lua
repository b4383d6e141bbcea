-- health: what workers report of the services that they need, and the reasons that jobs show for it.

local judge_workers, write_reasons
do

-- At most this many jobs show a reason; readers compute it for any other job.
local MOST_REASONS = 1000
-- One call examines at most this many open jobs beside the fan-outs.
local JOBS_AT_ONCE = 200

local MAY_WAIT = { waiting = true, active = true, retrying = true }

-- The outage in a worker's report; nil when it is malformed.
local function parse_outage(text)
  local is_json, about = pcall(cjson.decode, text)
  local outage = is_json and type(about) == 'table' and about.outage
  if type(outage) ~= 'table' then return nil end
  return { service = tostring(outage.service), cause = tostring(outage.cause), since = tostring(outage.since),
    since_ms = tonumber(outage.since_ms) or 0 }
end

-- The living workers by their reports in `about`: `alive`, their number; `outage`, the oldest one that a worker reports;
-- `is_partial`: another worker is answered by FCM; `is_full`: Redis refused a write for lack of memory.
function judge_workers(base, wall)
  local abouts, found = pairs_to_map(redis.call('HGETALL', base .. 'about')), { alive = 0 }
  for _, worker in ipairs(redis.call('HKEYS', base .. 'leases')) do
    local at, text = string.match(abouts[worker] or '', '^(%d+)|(.*)$')
    local lease_ms = text and tonumber(string.match(text, '"lease_ms":(%d+)')) or 0
    -- A worker that has reported nothing yet has just registered.
    if lease_ms == 0 or wall - tonumber(at) <= lease_ms then
      found.alive = found.alive + 1
      local function reports(what) return text and string.find(text, what, 1, true) end
      if reports('"answered":true') then found.is_partial = true end
      if reports('"redis_full":true') then found.is_full = true end
      local outage = reports('"outage":') and parse_outage(text)
      if outage and (not found.outage or outage.since_ms < found.outage.since_ms) then
        outage.worker, found.outage = worker, outage
      end
    end
  end
  return found
end

-- Replaces the reasons that earlier calls wrote by `text`, or removes them where it is ''. An operator's reason, and
-- that of a job that continued without one, stays. Returns the jobs that show `text`.
local function replace_reasons(base, text)
  local kept, count = {}, 0
  for id, old in pairs(pairs_to_map(redis.call('HGETALL', base .. 'reasons'))) do
    local job = base .. 'job:' .. id
    if redis.call('HGET', job, 'reason') ~= old then
      redis.call('HDEL', base .. 'reasons', id)
    elseif text == '' then
      redis.call('HDEL', job, 'reason')
      redis.call('HDEL', base .. 'reasons', id)
    else
      if old ~= text then
        redis.call('HSET', job, 'reason', text)
        redis.call('HSET', base .. 'reasons', id, text)
      end
      kept[id], count = true, count + 1
    end
  end
  return kept, count
end

-- write_reasons: stores a worker's report, and writes why the project's open jobs wait into their hashes: an outage that
-- every worker that tries reports, else `pressure`, a text. Removes it when it is over. Returns how many jobs show it.
function write_reasons(base, args)
  local worker, about, pressure = unpack(args, 1, 3)
  local wall = wall_ms()
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return 0 end
  redis.call('HSET', base .. 'about', worker, int(wall) .. '|' .. about)
  local found, text = judge_workers(base, wall), pressure
  if found.outage and not found.is_partial then
    text = found.outage.service .. ' cannot be reached since ' .. found.outage.since .. ': ' .. found.outage.cause
  end
  local kept, count = replace_reasons(base, text)
  if text == '' then return 0 end
  local jobs = redis.call('HKEYS', base .. 'active')
  for _, member in ipairs(redis.call('ZRANGE', base .. 'queue', 0, 49)) do jobs[#jobs + 1] = job_of_member(member) end
  for _, id in ipairs(redis.call('SRANDMEMBER', base .. 'jobs_open', JOBS_AT_ONCE)) do jobs[#jobs + 1] = id end
  for _, id in ipairs(jobs) do
    local state, reason = unpack(redis.call('HMGET', base .. 'job:' .. id, 'state', 'reason'))
    if MAY_WAIT[state] and not reason and not kept[id] and count < MOST_REASONS then
      -- In this order: a later call removes an entry of `reasons` whose job does not show it, and not the reverse.
      redis.call('HSET', base .. 'reasons', id, text)
      redis.call('HSET', base .. 'job:' .. id, 'reason', text)
      kept[id], count = true, count + 1
    end
  end
  return count
end

end
