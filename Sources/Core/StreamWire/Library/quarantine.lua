-- Quarantine: batches whose workers died several times in a row; see count_crash. One worker runs the quarantined
-- batches of a project, and its process says in which mode: the field `quarantine` of its claims.
--   none        it may not begin yet: it claims as always
--   busy        it runs such a batch, or waits until it may: it gets nothing more
--   shared      other projects of its process send beside the batch, and run no quarantined one
--   exclusive   nothing else of its process is in flight
-- Without the field the worker is an older one: it gets the batch at once, and waits itself until nothing else runs.

local choose_quarantine_worker
do

-- Chooses the worker for quarantined batches. `chosen`: the one that was chosen before. Sets fields of `state`:
-- `quarantine_worker`, nil for none; `quarantine_mode`, in which the worker has to run the next quarantined batch,
-- exclusive after a death in a shared quarantine; '' when there is none, or the worker could not send it now.
function choose_quarantine_worker(base, worker, chosen, state)
  local suspect = unpack(redis.call('LRANGE', base .. 'suspects', 0, 0))
  if chosen and redis.call('HEXISTS', base .. 'leases', chosen) == 0 then chosen = nil end
  if suspect then
    if not chosen then
      chosen = worker
      redis.call('HSET', base .. 'ctl', 'alone', worker)
    end
  elseif chosen == worker and (state.grant == 'none' or jobs.is_empty_handed(base, worker)) then
    redis.call('HDEL', base .. 'ctl', 'alone')
    chosen = nil
  end
  state.quarantine_worker, state.quarantine_mode = chosen, ''
  if not suspect or chosen ~= worker or state.block or state.hold_ms > 0 or state.pause ~= '' or state.pressure ~= ''
  then
    return
  end
  local crashes, spared = unpack(redis.call('HMGET', base .. 'b:' .. suspect, 'crashes', 'spared'))
  local is_exclusive = not spared and (tonumber(crashes) or 0) > CRASHES_TO_QUARANTINE
  state.quarantine_mode = is_exclusive and 'exclusive' or 'shared'
end

end
