
-- ---------------------------------------------------------------------------------------------------------------
-- A function that only frees or reports runs when memory is full, too: the way out must not be shut.
redis.register_function{ function_name = 'fanfare_v1_register', callback = register, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_renew', callback = renew, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_reconcile', callback = reconcile, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_bury', callback = bury, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_leave', callback = leave, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_release', callback = release, flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_intake', one_call(intake, intake_end))
redis.register_function('fanfare_v1_intakes', several_calls(intake, intake_end))
redis.register_function{ function_name = 'fanfare_v1_reject', callback = reject, flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_copy', copy)
redis.register_function('fanfare_v1_claim', claim)
redis.register_function{ function_name = 'fanfare_v1_spec', callback = spec, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v1_record', callback = one_call(record, record_end),
  flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_records', callback = several_calls(record, record_end),
  flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_hold', callback = hold, flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_pace', pace)
redis.register_function('fanfare_v1_manage', manage)
redis.register_function('fanfare_v1_connect', connect)
redis.register_function{ function_name = 'fanfare_v1_trim', callback = trim, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_tidy', callback = tidy, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_cancel', callback = cancel, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_cancel_entry', callback = cancel_entry, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_pause', callback = pause, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_resume', callback = resume, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_pause_project', callback = pause_project, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_resume_project', callback = resume_project, flags = { 'allow-oom' } }
redis.register_function('fanfare_v1_replay', replay)
redis.register_function{ function_name = 'fanfare_v1_drop', callback = drop, flags = { 'allow-oom' } }
redis.register_function{ function_name = 'fanfare_v1_overview', callback = overview, flags = { 'no-writes' } }
redis.register_function{ function_name = 'fanfare_v1_fleet', callback = fleet, flags = { 'no-writes' } }
