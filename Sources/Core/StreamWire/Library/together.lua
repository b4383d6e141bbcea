
-- ---------------------------------------------------------------------------------------------------------------
-- Calls that come together. What a job of one recipient costs here is mostly the calls of a function and what each asks
-- first, so a worker hands over several jobs at once, and writes the results of several.

-- What the calls of one function call share.
-- Written at the end, by intake_end or record_end (lists, see `note_for_end`):
--   entries, taken      entries that leave `jobs`; those of them that became a job, as a set
--   wanted              those entries that had been cancelled and stand in `unwanted`
--   claimed             by worker: batches that it holds now
--   opened, copying     jobs that are not over; jobs whose audience is copied
--   timed               name of a zset -> list of {score, member}
--   duplicates, seen    key of a job -> its new count of `duplicates`; list of SET commands that remember ids
--   over, over_counts   worker -> one-recipient jobs that are over, and their batches; status letter -> their number
--   over_ids            the same jobs as a set
--   totals              the project's counters after the steps that are noted so far; see add_totals
-- Asked once:
--   ctl, now, wall      of intake: `ctl` as read and changed, the project's time, the time of the day
--   clock, ended_at     of record: the project's time, and the time of the day at which its jobs ended
--   away                by worker and connection: see is_away
--   is_calm             `unwanted` and `singles` do not exist; false once a job was queued
--   is_queued           whether this call adds a job to `singles` at its end
--   is_listed           by class: a job may stand in a queue, or among those that are parked, blocked, restored, ending
--                       or expiring; forgotten before and after whatever may put one there
local function new_common()
  return { away = {}, taken = {}, seen = {}, over_ids = {}, over_counts = {}, is_listed = {} }
end

local function make(one, base, args, common)
  local is_made, reply = pcall(one, base, args, common)
  return is_made and reply or failed(base, reply)
end

-- `one(base, args, common)` makes a call, `ending(base, common)` writes what it left in `common`.
local function one_call(one, ending)
  return guarded(function(keys, args)
    local common = new_common()
    local reply = make(one, keys[1], args, common)
    ending(keys[1], common)
    return reply
  end)
end

-- intakes, records: several calls of intake, or of record, in their order.
-- ARGV: of each call the number of its arguments, and those.
-- Returns a list: of each call what it returns, or an error, which keeps no other from being made.
local function several_calls(one, ending)
  return guarded(function(keys, args)
    local base, common, replies, at = keys[1], new_common(), {}, 1
    while at <= #args do
      local count, call = tonumber(args[at]), {}
      for i = 1, count do call[i] = args[at + i] end
      at = at + count + 1
      replies[#replies + 1] = make(one, base, call, common)
    end
    ending(base, common)
    return replies
  end)
end
