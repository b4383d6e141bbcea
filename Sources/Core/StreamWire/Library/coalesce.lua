-- Coalesced calls: a worker hands over several jobs with one call, and writes the results of several.

-- What the calls of one function call share.
-- Written at the end, by handover.finish or finish_records (lists, see `collect`):
--   entries, jobs       entries that leave `jobs`; the ones that became a job, queued or taken, as a set
--   wanted              those entries that had been cancelled and stand in `unwanted`
--   claimed, notes      by worker: batches that it holds now; compact jobs, each with its note
--   opened, copying     jobs that are not over; jobs whose audience is copied
--   finished            times and ids of jobs that `finished` gets, in turns
--   timed               name of a zset -> list of {score, member}
--   duplicates          key of a job -> its new count of `duplicates`
--   over, over_counts   worker -> one-recipient jobs that are over, and their batches; status letter -> their number;
--                       `over_flagged`: how many of them may be duplicates
--   over_ids            the same jobs as a set, and compact jobs that are over or wait for a retry
--   forgotten           worker -> compact jobs of `over_ids`
--   waiting             `ids` of the compact jobs that wait for a retry, and `due`: when, and the recipient, in turns
--   prints, newest      fingerprints of compact jobs' results, and the id of the last entry
--   totals              the project's counters that the noted steps change, and their writes; see add_totals
-- Read once:
--   control, now, wall  of intake: `ctl` as read and changed, the project's time, the time of the day
--   clock, ended_at     of record: the project's time, and the time of the day at which its jobs ended
--   wall                of record: the time of the day, of a pace
--   unavailable         by worker and connection: see is_unavailable
--   is_calm             `unwanted` and `singles` do not exist; false once a job was queued
--   is_queued           whether this call adds a job to `singles` at its end
--   is_listed           by class: see may_be_listed; forgotten before and after a write that may put a job into a list
local function new_common()
  return { unavailable = {}, jobs = {}, over_ids = {}, over_counts = {}, over_flagged = 0, is_listed = {} }
end

local function make_call(callback, base, args, common)
  local is_made, reply = pcall(callback, base, args, common)
  return is_made and reply or clean_up(base, reply)
end

-- `callback(base, args, common)` makes a call, `finish(base, common)` writes what it left in `common`.
local function one_call(callback, finish)
  return guarded(function(base, args)
    local common = new_common()
    local reply = make_call(callback, base, args, common)
    finish(base, common)
    return reply
  end)
end

-- intakes, records: several calls in their order, each as the number of its arguments, and these; a short call's number
-- is negative, see compact.lua. Returns a list of their replies; an error does not stop the others. `make_short`: sets
-- the replies of short calls, beside the `others`; for one without a reply `long` returns the arguments of the call
-- that it stands for.
local function several_calls(callback, finish, make_short, long)
  return guarded(function(base, args)
    local common, short, others, replies, at, place = new_common(), {}, {}, {}, 1, 0
    while at <= #args do
      local count = tonumber(args[at])
      place = place + 1
      if count < 0 then
        count = -count
        short[#short + 1] = { place = place, at = at, count = count }
      else
        others[#others + 1] = at
      end
      at = at + count + 1
    end
    if #short > 0 then
      local is_made, raised = pcall(make_short, base, short, others, args, replies, common)
      local reply = not is_made and clean_up(base, raised) or nil
      for _, call in ipairs(short) do replies[call.place] = replies[call.place] or reply end
    end
    at = 1
    for i = 1, place do
      local count = tonumber(args[at])
      if not replies[i] then
        local words = count < 0 and long(args, at) or { unpack(args, at + 1, at + count) }
        replies[i] = make_call(callback, base, words, common)
      end
      at = at + math.abs(count) + 1
    end
    finish(base, common)
    return replies
  end)
end
