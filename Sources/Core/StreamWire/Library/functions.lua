
-- ---------------------------------------------------------------------------------------------------------------
-- A function that only frees or reports runs when memory is full, too: the way out must not be shut.
redis.register_function{ function_name = 'fanfare_v2_register', callback = register, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_renew', callback = renew, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_reconcile', callback = guarded(reconcile), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_bury', callback = guarded(bury), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_leave', callback = guarded(leave), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_release', callback = guarded(release), flags = { 'allow-oom' } }
redis.register_function('fanfare_v2_intake', one_call(intake, intake_end))
redis.register_function('fanfare_v2_intakes', several_calls(intake, intake_end))
redis.register_function{ function_name = 'fanfare_v2_reject', callback = guarded(reject), flags = { 'allow-oom' } }
redis.register_function('fanfare_v2_copy', guarded(copy))
redis.register_function('fanfare_v2_claim', guarded(claim))
redis.register_function{ function_name = 'fanfare_v2_spec', callback = spec, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v2_record', callback = one_call(record, record_end),
  flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_records', callback = several_calls(record, record_end),
  flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_hold', callback = guarded(hold), flags = { 'allow-oom' } }
redis.register_function('fanfare_v2_pace', guarded(pace))
redis.register_function('fanfare_v2_manage', guarded(manage))
redis.register_function('fanfare_v2_connect', guarded(connect))
redis.register_function{ function_name = 'fanfare_v2_trim', callback = guarded(trim), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_tidy', callback = guarded(tidy), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_cancel', callback = guarded(cancel), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_cancel_entry', callback = guarded(cancel_entry), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_pause', callback = guarded(pause), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_resume', callback = guarded(resume), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_pause_project', callback = guarded(pause_project), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_resume_project', callback = guarded(resume_project), flags = { 'allow-oom' } }
redis.register_function('fanfare_v2_replay', guarded(replay))
redis.register_function{ function_name = 'fanfare_v2_drop', callback = guarded(drop), flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v2_overview', callback = overview, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v2_fleet', callback = fleet, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v2_check', callback = check, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v2_repair', callback = guarded(repair), flags = { 'allow-oom' } }
