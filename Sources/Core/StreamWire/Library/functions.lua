
-- ---------------------------------------------------------------------------------------------------------------
-- The functions as Redis knows them. A function that only frees or reports runs when memory is full, too: the way out
-- must not be shut.

local function register_function(name, callback, ...)
  redis.register_function{ function_name = 'fanfare_v2_' .. name, callback = callback, flags = { ... } }
end

register_function('register', plain(register), 'allow-oom')
register_function('renew', plain(renew), 'allow-oom')
register_function('reconcile', guarded(reconcile), 'allow-oom')
register_function('declare_dead', guarded(declare_dead), 'allow-oom')
register_function('deregister', guarded(deregister), 'allow-oom')
register_function('release', guarded(release), 'allow-oom')
register_function('intake', one_call(intake, finish_intakes))
register_function('intakes', several_calls(intake, finish_intakes))
register_function('reject', guarded(reject), 'allow-oom')
register_function('copy', guarded(copy))
register_function('claim', guarded(claim))
register_function('spec', plain(spec), 'no-writes')
register_function('record', one_call(record, finish_records), 'allow-oom')
register_function('records', several_calls(record, finish_records), 'allow-oom')
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
register_function('replay', guarded(replay))
register_function('drop', guarded(drop), 'allow-oom')
register_function('overview', plain(overview), 'no-writes')
register_function('fleet', plain(fleet), 'no-writes')
register_function('check', plain(check), 'no-writes')
register_function('repair', guarded(repair), 'allow-oom')
