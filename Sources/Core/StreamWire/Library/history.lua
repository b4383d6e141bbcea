-- History: what the project did in each slot of 10 seconds, for an hour, and of 5 minutes, for a day. A slot is a text of
-- its number and counts, "<slot> <name>=<count> ...", which every worker's records are added to. So its size and the cost
-- of reading it do not depend on the number of workers.

local write_history
do

local SLOTS = { { prefix = 'f', ms = 10000, count = 360 }, { prefix = 'c', ms = 300000, count = 288 } }
-- A record is sent up to 5 s after the end of its slot.
local DELAY = 5000
local MOST_NAMES = 100

-- The counts of a slot; empty when its field holds an older one.
local function read_slot(text, slot)
  local counts, known, rest = {}, string.match(text or '', '^(%d+)(.*)$')
  if known ~= slot then return counts, 0 end
  local size = 0
  for name, count in string.gmatch(rest, ' ([^ =]+)=(%d+)') do
    counts[name] = tonumber(count)
    size = size + 1
  end
  return counts, size
end

-- The text of a slot with a record added. `waiting`, `quota`: at the end of the slot, so they replace earlier ones.
local function add_record(text, slot, record, waiting, quota)
  local counts, size = read_slot(text, slot)
  for i = 1, #record, 2 do
    local name, count = record[i], tonumber(record[i + 1])
    if count and (counts[name] or size < MOST_NAMES) then
      if not counts[name] then size = size + 1 end
      counts[name] = (counts[name] or 0) + count
    end
  end
  counts.waiting, counts.quota = waiting, quota
  local words, names = { slot }, {}
  for name in pairs(counts) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do words[#words + 1] = name .. '=' .. int(counts[name]) end
  return table.concat(words, ' ')
end

-- Marks the start of a worker, and of a version that the worker started last did not have. Part of a step.
local function mark_start(base, worker, version)
  local last = redis.call('HGET', base .. 'ctl', 'version')
  if last and last ~= version then add_mark(base, 'version', version) end
  if last ~= version then write('HSET', base .. 'ctl', 'version', version) end
  add_mark(base, 'worker', worker)
end

-- write_history: adds what a worker did since its last record, ten seconds ago, to the project's history. `number`: of
-- the record, from 1 on for each start of a worker. Names with their counts follow; see HistoryRecord. Returns 'ok', or
-- 'fenced' if the worker was declared dead. A record that was added before changes nothing.
function write_history(base, args)
  local worker, number, version = unpack(args, 1, 3)
  if redis.call('HEXISTS', base .. 'leases', worker) == 0 then return 'fenced' end
  local last = redis.call('HGET', base .. 'recorded', worker)
  if last and tonumber(number) <= tonumber(last) then return 'ok' end
  local record, at = {}, wall_ms() - DELAY
  for i = 4, #args do record[i - 3] = args[i] end
  local waiting = recipients_left(base) + redis.call('XLEN', base .. 'jobs')
  local quota = tonumber(redis.call('HGET', base .. 'ctl', 'quota')) or 0
  if number ~= '1' and #record == 0 and waiting == 0 then return 'ok' end
  in_step(base, '', function()
    if number == '1' then mark_start(base, worker, version) end
    write('HSET', base .. 'recorded', worker, number)
    if #record == 0 and waiting == 0 then return end
    for _, kind in ipairs(SLOTS) do
      local slot = math.floor(at / kind.ms)
      local field = kind.prefix .. int(slot % kind.count)
      local text = redis.call('HGET', base .. 'history', field)
      write('HSET', base .. 'history', field, add_record(text, int(slot), record, waiting, quota))
    end
    write('PEXPIRE', base .. 'history', int(DAY))
  end)
  return 'ok'
end

end
