-- Steps: groups of writes that are all made in the end, or none of them.
--
-- An error in the middle of a function (a missing right, a key of another type) leaves the writes before it. So a step
-- goes through three phases:
--   1. decide: `write` collects the step's writes. Entries of outgoing streams (XADD) are written until then: an error
--      may repeat them, and never loses them.
--   2. note: the step is stored in the key `redo`.
--   3. make: its writes are made. If one fails, the note stays, and the next call makes the whole step again first.
--      That call may be of the other version of the library, so a note has the form that version 1 gave it.
-- Each write of a step must be idempotent: it sets values and increments nothing.

-- State of the current function call; `redo` resets it:
local step         -- writes of the step that is being decided; nil outside of a step
local noted        -- the base, while the key `redo` holds a step of this call
local due          -- writes of the end of this call, which are noted with its steps until they are made
local making       -- {job, writes}: the step that is being made
local made         -- how many of its writes were made
local stuck        -- list of {job, writes}: steps that failed: a key has the wrong type, or a right is missing
local stuck_jobs   -- job -> the error of its failed step; the job '' stands for the project

-- base -> when a function of the project last failed, in Redis TIME; see check_rights. Kept from call to call.
local failed_at = {}

-- Turns a raised value into an error reply that begins with Redis' error code, ERR if it has none.
local function error_of(raised)
  local text = tostring(type(raised) == 'table' and raised.err or raised)
  if not string.match(text, '^%u[%u_]* ') then text = 'ERR ' .. text end
  return { err = text }
end

local append_news, refuse_stuck, commit, make_due, in_step, clean_up, try, raised_last, plain, guarded
do

local function note_steps(base, steps)
  redis.call('HSET', base .. 'redo', 'steps', cmsgpack.pack(steps))
end

-- Steps that must stay noted: the ones that failed, then `latest`, a step of this moment, then the writes that are due.
local function open_steps(latest)
  local steps = {}
  for i, failed in ipairs(stuck) do steps[i] = failed end
  steps[#steps + 1] = latest
  if due then steps[#steps + 1] = { '', due } end
  return steps
end

-- Removes the note of the steps that were made.
local function close_steps()
  if not noted then return end
  local steps = open_steps()
  if #steps > 0 then note_steps(noted, steps) else redis.call('DEL', noted .. 'redo') end
  noted = nil
end

function write(...)
  if step then
    step[#step + 1] = { ... }
    return nil
  end
  -- Delete the note first: a step that is made again would undo this later write.
  close_steps()
  return redis.call(...)
end

-- Removes the keys of one-recipient jobs that are over. After the worker: id, n, id, n, ... of their batches. The key
-- names are built here, so that the note stays small.
local function remove_over(base, worker, ...)
  local ids_and_batches, names, ids, keys = { ... }, {}, {}, {}
  for i = 1, #ids_and_batches, 2 do
    local id, name = ids_and_batches[i], ids_and_batches[i] .. '/' .. ids_and_batches[i + 1]
    names[#names + 1] = name
    ids[#ids + 1] = id
    keys[#keys + 1] = base .. 'spec:' .. id
    keys[#keys + 1] = base .. 'rcpt:' .. id
    keys[#keys + 1] = base .. 'wait:' .. id
    keys[#keys + 1] = base .. 'b:' .. name
  end
  if worker ~= '' then redis.call('SREM', base .. 'claims:' .. worker, unpack(names)) end
  redis.call('SREM', base .. 'jobs_open', unpack(ids))
  redis.call('UNLINK', unpack(keys))
end

-- The operations of a step that are no Redis command, by the name in its note.
local OPERATIONS = { over = remove_over, tell = append_news_now }

local function make_writes(writes, is_repeated)
  made = 0
  for _, operation in ipairs(writes) do
    local name, key, value = unpack(operation)
    if OPERATIONS[name] then
      OPERATIONS[name](unpack(operation, 2))
    else
      -- A list must not get the same batch twice.
      if is_repeated and name == 'RPUSH' then redis.call('LREM', key, 0, value) end
      redis.call(unpack(operation))
    end
    made = made + 1
  end
end

-- The writes of a failed step from the one that failed on. The ones before it are not made again: later calls may have
-- written newer values to the same keys.
local function unmade(failed_step)
  local id, writes = unpack(failed_step)
  local rest = {}
  for i = made + 1, #writes do rest[#rest + 1] = writes[i] end
  return { id, rest }
end

-- Appends an entry to the news that every worker reads; inside a step, when the step is made.
function append_news(base, kind, name, value)
  if step then
    step[#step + 1] = { 'tell', base, kind, name, value }
  else
    append_news_now(base, kind, name, value)
  end
end

function refuse_stuck(id)
  if stuck_jobs[id] then error(stuck_jobs[id], 0) end
end

local function make_step(id, writes)
  making = { id, writes }
  make_writes(writes)
  making = nil
end

-- Notes and makes a step. `id`: its job, '' for none. `totals`: writes of the end of this call, noted with the step.
-- `on_noted`: called once the step is noted, so that it will certainly be made.
function commit(base, id, writes, totals, on_noted)
  refuse_stuck(id)
  if #writes == 0 then return end
  if #writes == 1 and not totals then
    local single = unpack(writes)
    local name = unpack(single)
    -- A single command is atomic and needs no note.
    if name ~= 'tell' then
      write(unpack(single))
      return
    end
  end
  due = totals or due
  note_steps(base, open_steps({ id, writes }))
  noted, making = base, { id, writes }
  if on_noted then on_noted() end
  make_step(id, writes)
end

-- Makes the writes that are due at the end of a call.
function make_due(base)
  if not due then return end
  make_step('', due)
  noted, due = base, nil
end

-- Decides a step with `decide(...)`, makes it, and returns what `decide` returned.
function in_step(base, id, decide, ...)
  refuse_stuck(id)
  step = {}
  local first, second = decide(...)
  local writes = step
  step = nil
  commit(base, id, writes)
  return first, second
end

-- Cleans up after a failed call and returns its error as a reply. A step that was partly made stays noted.
function clean_up(base, raised)
  local reply = error_of(raised)
  if making then
    local id = unpack(making)
    stuck[#stuck + 1] = unmade(making)
    stuck_jobs[id] = reply.err
  end
  step, making = nil, nil
  failed_at[base] = wall_ms()
  return reply
end

-- Calls a function for one of many jobs, whose error stops no other. Returns whether there was none, and what it
-- returned, or the error's reply.
function try(base, callback, ...)
  local is_made, result = pcall(callback, base, ...)
  if is_made then return true, result end
  return false, (step or making) and clean_up(base, result) or error_of(result)
end

-- What is raised after a loop of `try`, so that the call is repeated: the first error, except that of a key of another
-- type, which would come again. `known`: from earlier in the loop.
function raised_last(known, reply)
  return known or not string.find(reply.err, '^WRONGTYPE') and reply.err or nil
end

-- Makes the steps again that failed in earlier calls. Raises an error while a step of the project is stuck.
local function redo(base)
  step, noted, due, making, stuck, stuck_jobs = nil, nil, nil, nil, {}, {}
  local text = redis.call('HGET', base .. 'redo', 'steps')
  if not text then return end
  for _, failed_step in ipairs(cmsgpack.unpack(text)) do
    local id, writes = unpack(failed_step)
    local is_made, raised = pcall(make_writes, writes, true)
    if not is_made then
      stuck[#stuck + 1] = unmade(failed_step)
      stuck_jobs[id] = error_of(raised).err
    end
  end
  if #stuck == 0 then
    redis.call('DEL', base .. 'redo')
  elseif cmsgpack.pack(stuck) ~= text then
    note_steps(base, stuck)
  end
  refuse_stuck('')
end

-- A function as Redis calls it, with its one key. It makes no step.
function plain(callback)
  return function(keys, args)
    local base = unpack(keys)
    return callback(base, args)
  end
end

-- Wraps a function that writes: first the failed steps of earlier calls are made again. Returns the reply or an error.
function guarded(callback)
  return plain(function(base, args)
    local function run()
      redo(base)
      local reply = callback(base, args)
      close_steps()
      return reply
    end
    local is_made, reply = pcall(run)
    if is_made then return reply end
    local is_clean, error_reply = pcall(clean_up, base, reply)
    return is_clean and error_reply or error_of(reply)
  end)
end

end
