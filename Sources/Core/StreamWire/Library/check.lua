-- Checks of the caller's rights and of the types of the project's keys.

-- Type of each key that exists once a project, by its name after the base.
local TYPES = { jobs = 'stream', results = 'stream', feedback = 'stream', dead = 'stream', news = 'stream',
  refused = 'stream', upstream = 'stream', fingerprints = 'stream', fingerprints_open = 'list',
  unwanted = 'set', paused = 'string', compact = 'hash', holders = 'set', copying = 'set', jobs_open = 'set',
  jobs_parked = 'set', jobs_stopped = 'zset', jobs_paused = 'zset',
  blocked = 'set', restoring = 'set', groups_on = 'set', again = 'zset', retry = 'zset', retry_many = 'zset',
  again_managed = 'zset', queue = 'zset', singles = 'zset', groups = 'zset', managed = 'zset', sched = 'zset',
  expiring = 'zset', ending = 'zset', rated = 'zset', counted = 'zset', orphans = 'list', suspects = 'list',
  later = 'zset', closed_windows = 'set', active = 'hash', answers = 'hash', lent = 'hash', leases = 'hash',
  links = 'hash', redo = 'hash', rates = 'hash',
  connections = 'hash', about = 'hash', tally = 'hash', ctl = 'hash', history = 'hash', recorded = 'hash',
  marks = 'stream', audit = 'stream', finished = 'zset', reasons = 'hash' }

-- Every command that the library calls, with arguments that redis.acl_check_cmd accepts. `{}` stands for the key.
local COMMANDS = { 'BITCOUNT {}', 'DEL {}', 'EXISTS {}', 'GETBIT {} 0', 'GETRANGE {} 0 0', 'HDEL {} x', 'HEXISTS {} x',
  'HGET {} x', 'HGETALL {}', 'HKEYS {}', 'HLEN {}', 'HMGET {} x', 'HRANDFIELD {}', 'HSET {} x 1', 'HSETNX {} x 1',
  'HINCRBY {} x 1', 'HVALS {}', 'INFO', 'LLEN {}', 'LRANGE {} 0 0', 'LREM {} 0 x', 'PEXPIRE {} 1', 'PFADD {} x',
  'PFCOUNT {}', 'RPUSH {} x', 'SADD {} x', 'SCARD {}', 'SET {} x', 'SETBIT {} 0 1', 'SETRANGE {} 0 x', 'SISMEMBER {} x',
  'SMEMBERS {}', 'SRANDMEMBER {}', 'SREM {} x', 'SSCAN {} 0', 'TIME', 'TYPE {}', 'UNLINK {}', 'XACK {} x 0-0',
  'XADD {} * x 1', 'XDEL {} 0-0', 'XGROUP DELCONSUMER {} x x', 'XINFO CONSUMERS {} x', 'XINFO GROUPS {}', 'XLEN {}',
  'XPENDING {} x', 'XRANGE {} - +', 'XTRIM {} MAXLEN 1', 'ZADD {} 1 x', 'ZCARD {}', 'ZCOUNT {} 0 0', 'ZPOPMIN {}',
  'ZRANGE {} 0 0', 'ZRANGEBYSCORE {} 0 0', 'ZREM {} x', 'ZSCORE {} x' }

-- Per function: its writes to outgoing streams, which cannot be undone, and the note of its step; see check_rights.
local IRREVERSIBLE = {
  record = { { 'XADD {} * x 1', 'results' }, { 'XADD {} * x 1', 'feedback' }, { 'HSET {} x 1', 'redo' } },
  reject = { { 'XADD {} * x 1', 'dead' }, { 'XDEL {} 0-0', 'jobs' }, { 'HSET {} x 1', 'redo' } },
  park = { { 'XADD {} * x 1', 'dead' }, { 'HSET {} x 1', 'redo' } },
  replay = { { 'XADD {} * x 1', 'jobs' }, { 'XDEL {} 0-0', 'dead' } },
}

-- For how long after an error check_rights looks, in ms.
local WARY_MS = 10000

local function may_run(command, key)
  local words = {}
  for word in string.gmatch(command, '%S+') do words[#words + 1] = word == '{}' and key or word end
  return redis.acl_check_cmd(unpack(words))
end

-- The actual type of a key when it is not `wanted`; nil when it is, or the key does not exist.
local function wrong_type(key, wanted)
  local found = redis.call('TYPE', key).ok
  return found ~= 'none' and found ~= wanted and found or nil
end

-- Raises an error if a write in IRREVERSIBLE[name] would fail: an entry written before an error would be written again
-- by each repeated call. Checks only within WARY_MS of an error of the project, or when `always` is set.
local function check_rights(base, name, always)
  local since = failed_at[base]
  if not since and not always then return end
  if since and wall_ms() - since > WARY_MS then failed_at[base] = nil end
  for _, needed in ipairs(IRREVERSIBLE[name]) do
    local command, key = unpack(needed)
    if not may_run(command, base .. key) then
      error('NOPERM this user may not run ' .. string.match(command, '^%u+') .. ' on ' .. base .. key, 0)
    end
    local found = wrong_type(base .. key, TYPES[key])
    if found then error('WRONGTYPE ' .. base .. key .. ' is a ' .. found .. ', must be a ' .. TYPES[key], 0) end
  end
end

-- check: finds keys of the wrong type and missing rights, on a new connection and after an error. Writes nothing.
-- Returns a list of faults: {'key', key, 'found', type, 'needed', type}, or {'command', name, 'key', key}.
local function check(base)
  local faults = {}
  for _, command in ipairs(COMMANDS) do
    if not may_run(command, base .. 'ctl') then
      local name = string.match(command, '^(%u+ %u+) ') or string.match(command, '^%u+')
      faults[#faults + 1] = { 'command', name, 'key', base .. 'ctl' }
    end
  end
  local names = {}
  for name in pairs(TYPES) do names[#names + 1] = name end
  table.sort(names)
  local function find(name, needed)
    local found = wrong_type(base .. name, needed)
    if found then faults[#faults + 1] = { 'key', base .. name, 'found', found, 'needed', needed } end
  end
  for _, name in ipairs(names) do find(name, TYPES[name]) end
  -- The error of a key that is of the wrong type itself names no worker.
  local workers = {}
  for _, worker in ipairs(redis.pcall('HKEYS', base .. 'leases')) do workers[worker] = true end
  for _, worker in ipairs(redis.pcall('SMEMBERS', base .. 'holders')) do workers[worker] = true end
  for worker in pairs(workers) do
    find('claims:' .. worker, 'set')
    find('compact:' .. worker, 'hash')
  end
  return faults
end
