-- The functions as Redis knows them. A function that only frees or reports runs when memory is full, too.

local function register_function(name, callback, ...)
  redis.register_function{ function_name = 'fanfare_v3_' .. name, callback = callback, flags = { ... } }
end

register_function('register', plain(register), 'allow-oom')
register_function('renew', plain(renew), 'allow-oom')

-- renewals: `renew` in several projects of one server, by one call. `bases`: the only keys of a function that takes more
-- than one. For each of them: the arguments of `renew`. Returns the replies, or errors, in their order.
register_function('renewals', function(bases, args)
  local replies = {}
  for i, base in ipairs(bases) do
    local is_made, reply = pcall(renew, base, { unpack(args, 3 * i - 2, 3 * i) })
    replies[i] = is_made and reply or error_of(reply)
  end
  return replies
end, 'allow-oom')

register_function('reconcile', guarded(reconcile), 'allow-oom')
register_function('declare_dead', guarded(declare_dead), 'allow-oom')
register_function('deregister', guarded(deregister), 'allow-oom')
register_function('release', guarded(release), 'allow-oom')
register_function('intake', one_call(intake, handover.finish))
register_function('intakes', several_calls(intake, handover.finish, compact.take, compact.long_intake))

do

-- expand: writes the hash of a compact job, for who asks about it. Returns 1; 0 when it is none.
local function expand(base, args)
  local id = unpack(args, 1, 1)
  return compact.expand(base, id) and 1 or 0
end

register_function('expand', guarded(expand), 'allow-oom')

end

register_function('reject', guarded(reject), 'allow-oom')
register_function('set_window', guarded(set_window))
register_function('copy', guarded(copy))
register_function('claim', guarded(claim))
register_function('spec', plain(spec), 'no-writes')
register_function('record', one_call(record, finish_records), 'allow-oom')
register_function('records', several_calls(record, finish_records, compact.record, compact.long_record), 'allow-oom')
register_function('hold', guarded(hold), 'allow-oom')
register_function('pace', guarded(pace))
register_function('manage', guarded(manage))
register_function('connect', guarded(connect))
register_function('trim', guarded(trim), 'allow-oom')
register_function('remove_idle_consumers', guarded(remove_idle_consumers), 'allow-oom')
register_function('cancel', guarded(cancel), 'allow-oom')
register_function('cancel_entry', guarded(cancel_entry), 'allow-oom')
register_function('pause', guarded(pause), 'allow-oom')
register_function('resume', guarded(resume), 'allow-oom')
register_function('pause_project', guarded(pause_project), 'allow-oom')
register_function('resume_project', guarded(resume_project), 'allow-oom')
register_function('probe_project', guarded(probe_project), 'allow-oom')
register_function('replay', guarded(replay))
register_function('drop', guarded(drop), 'allow-oom')
register_function('push_edited', guarded(push_edited))
register_function('write_history', guarded(write_history), 'allow-oom')
register_function('overview', plain(overview), 'no-writes')
register_function('fleet', plain(fleet), 'no-writes')
register_function('check', plain(check), 'no-writes')
register_function('repair', guarded(repair), 'allow-oom')
register_function('write_reasons', guarded(write_reasons), 'allow-oom')
