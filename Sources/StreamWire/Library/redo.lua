
-- ---------------------------------------------------------------------------------------------------------------
-- Steps: writes that belong together, of which all are made in the end, or none.
--
-- Redis has no rollback. An error in the middle of a function (a right that was taken away, a key of another type) leaves
-- what was written before it. So a step is decided first, while `write` collects its writes. Then the step is noted in
-- `redo`, and then it is made. When one of its writes fails, the note stays, and the next call makes the whole step again
-- before it does anything else. So each write of a step must be idempotent: it sets values and increments nothing.
-- What leaves the system (XADD) goes out while the step is decided: an error may repeat it, and never loses it.

-- Of the call that is being made:
local step         -- writes of the step that is being decided; nil outside of a step
local noted        -- the base, while `redo` holds a step of this call
local making       -- {job, writes}: the step that is being made
local stuck        -- list of such steps that could not be made: a key is spoilt, or a right is missing
local stuck_jobs   -- job -> the error with which its step failed; '' for the project

-- When functions of a project last failed, in Redis TIME; see check.lua.
local troubled = {}

-- What was raised, as an error with the code that Redis gave it.
local function refusal(raised)
  local text = tostring(type(raised) == 'table' and raised.err or raised)
  if not string.match(text, '^%u[%u_]* ') then text = 'ERR ' .. text end
  return { err = text }
end

local function note_steps(base, steps)
  redis.call('HSET', base .. 'redo', 'steps', cmsgpack.pack(steps))
end

-- Takes the note of steps that were made away.
local function close_steps()
  if not noted then return end
  if #stuck > 0 then note_steps(noted, stuck) else redis.call('DEL', noted .. 'redo') end
  noted = nil
end

function write(...)
  if step then
    step[#step + 1] = { ... }
    return nil
  end
  -- A step that is made again must not undo what is written after it.
  close_steps()
  return redis.call(...)
end

-- Jobs of one recipient that are over: {'over', base, worker, id, n, id, n, ...}. Their names are spelt out here, so that the
-- note stays small.
local function remove_over(op)
  local base, names, ids, keys = op[2], {}, {}, {}
  for i = 4, #op, 2 do
    local id, name = op[i], op[i] .. '/' .. op[i + 1]
    names[#names + 1] = name
    ids[#ids + 1] = id
    keys[#keys + 1] = base .. 'spec:' .. id
    keys[#keys + 1] = base .. 'rcpt:' .. id
    keys[#keys + 1] = base .. 'b:' .. name
  end
  if op[3] ~= '' then redis.call('SREM', base .. 'claims:' .. op[3], unpack(names)) end
  redis.call('SREM', base .. 'jobs_open', unpack(ids))
  redis.call('UNLINK', unpack(keys))
end

local function make_writes(writes, is_again)
  for _, op in ipairs(writes) do
    if op[1] == 'over' then
      remove_over(op)
    elseif op[1] == 'tell' then
      tell_now(unpack(op, 2))
    else
      -- A list must not get the same batch twice.
      if is_again and op[1] == 'RPUSH' then redis.call('LREM', op[2], 0, op[3]) end
      redis.call(unpack(op))
    end
  end
end

-- Tells every worker, as a part of the step that is being decided if there is one.
local function tell(base, kind, name, value)
  if step then
    step[#step + 1] = { 'tell', base, kind, name, value }
  else
    tell_now(base, kind, name, value)
  end
end

local function refuse_stuck(id)
  if stuck_jobs[id] then error(stuck_jobs[id], 0) end
end

-- Makes a step. `id`: the job that it is about, '' for none. `totals`: writes that the end of this call makes; they are noted
-- with the step. `on_noted`: called when it is certain that the step will be made.
local function commit(base, id, writes, totals, on_noted)
  refuse_stuck(id)
  if #writes == 0 then return end
  if #writes == 1 and not totals and writes[1][1] ~= 'tell' then
    -- One command is made or not.
    write(unpack(writes[1]))
    return
  end
  local steps = {}
  for i, other in ipairs(stuck) do steps[i] = other end
  steps[#steps + 1] = { id, writes }
  if totals then steps[#steps + 1] = { '', totals } end
  note_steps(base, steps)
  noted, making = base, { id, writes }
  if on_noted then on_noted() end
  make_writes(writes)
  making = nil
end

-- Makes the totals that were noted with the steps of this call.
local function make_totals(totals)
  making = { '', totals }
  make_writes(totals)
  making = nil
end

-- Decides a step with `decide(...)`, makes it, and returns what `decide` returned.
local function in_step(base, id, decide, ...)
  refuse_stuck(id)
  step = {}
  local first, second = decide(...)
  local writes = step
  step = nil
  commit(base, id, writes)
  return first, second
end

-- Ends what a failed call left: returns the error as a reply. A step of which a part was made stays noted.
local function failed(base, raised)
  local reply = refusal(raised)
  if making then
    stuck[#stuck + 1] = making
    stuck_jobs[making[1]] = reply.err
  end
  step, making = nil, nil
  troubled[base] = now_ms()
  return reply
end

-- Makes again what an earlier call had to leave.
local function redo(base)
  step, noted, making, stuck, stuck_jobs = nil, nil, nil, {}, {}
  local text = redis.call('HGET', base .. 'redo', 'steps')
  if not text then return end
  local steps = cmsgpack.unpack(text)
  for _, one in ipairs(steps) do
    local is_made, raised = pcall(make_writes, one[2], true)
    if not is_made then
      stuck[#stuck + 1] = one
      stuck_jobs[one[1]] = refusal(raised).err
    end
  end
  if #stuck == 0 then
    redis.call('DEL', base .. 'redo')
  elseif #stuck < #steps then
    note_steps(base, stuck)
  end
  refuse_stuck('')
end

-- A function that writes: it first makes what an earlier call had to leave. An error is its reply, and none of its steps is
-- lost.
local function guarded(callback)
  return function(keys, args)
    local function run()
      redo(keys[1])
      local reply = callback(keys, args)
      close_steps()
      return reply
    end
    local is_made, reply = pcall(run)
    if is_made then return reply end
    local is_told, error_reply = pcall(failed, keys[1], reply)
    return is_told and error_reply or refusal(reply)
  end
end
