internal import FanfareModel

/// Gauges, as of the scrape or of the last reading from Redis.
extension MetricCatalogue {
    // MARK: Fleet, by project

    public static let recipientsWaiting = shared(
        "fanfare_recipients_waiting",
        "Recipients without a result, of jobs that workers have taken and that are neither over nor parked: including "
            + "recipients in flight and recipients waiting for a retry."
    )
    public static let recipientsRetrying = shared(
        "fanfare_recipients_retrying",
        "Recipients that wait for a retry."
    )
    public static let entriesWaiting = shared(
        "fanfare_entries_waiting",
        "Entries of the job stream that no worker has taken yet."
    )
    public static let oldestWait = shared(
        "fanfare_oldest_wait_seconds",
        "Age of the oldest job without a started send; 0 if there is none. Scheduled, paused and parked jobs are "
            + "excluded."
    )
    public static let drain = shared(
        "fanfare_drain_seconds",
        "Estimated minimum time until nothing waits, if nothing is pushed and the project sends at its full quota. "
            + "FCM's remaining cooldown is added."
    )
    public static let fanoutsWaiting = shared("fanfare_fanouts_waiting", "Fan-outs that wait for the slot.")
    public static let fanoutActive = shared(
        "fanfare_fanout_active",
        "Fan-outs that hold the slot: 0 or 1, unless the project allows more."
    )
    public static let fanoutEpoch = shared(
        "fanfare_fanout_epoch",
        "The last epoch of the project. It grows with every fan-out that gets the slot and with every claimed batch."
    )
    public static let cooldown = shared(
        "fanfare_cooldown_seconds",
        "How long all sends of the project still wait because FCM asked for it."
    )
    public static let permits = shared(
        "fanfare_permits",
        "Sends that could be leased to workers after the last lease, without the permits that workers hold."
    )
    public static let permitRate = shared(
        "fanfare_permit_rate",
        "Sends a second that the project may make: its ramp, less the share of refusals; at most ten after a hold."
    )
    public static let quota = shared(
        "fanfare_quota_per_minute",
        "The project's quota as its workers have it configured."
    )
    public static let deadJobs = shared("fanfare_dead_jobs", "Entries of the dead stream: jobs that need an operator.")
    public static let jobsOpen = shared("fanfare_jobs_open", "Jobs that are neither over nor parked.")
    public static let jobsParked = shared("fanfare_jobs_parked", "Jobs that are parked until an operator replays them.")
    public static let jobsScheduled = shared("fanfare_jobs_scheduled", "Jobs that wait for their not_before.")
    public static let jobsStopped = shared(
        "fanfare_jobs_stopped",
        labels: [project, .init("guard", ["stop_if", "message", "canary"])],
        "Jobs that a guard has paused and that wait to be resumed; a canary may continue by itself."
    )
    public static let resultsUnread = shared(
        "fanfare_results_unread",
        "Entries of the results stream that the slowest consumer group has not acknowledged; 0 without a group."
    )
    public static let paused = shared("fanfare_project_paused", "1 while an operator has paused the project.")
    public static let unreachable = shared(
        "fanfare_project_unreachable",
        "1 if no worker that tries reaches FCM or the token endpoint. What waits continues by itself."
    )
    public static let blocked = shared(
        "fanfare_project_blocked",
        "1 while the project cannot send until an operator acts, for example after refused credentials."
    )
    public static let pressure = shared(
        "fanfare_pressure",
        labels: [project, .init("kind", ["results", "feedback", "dead", "upstream", "memory", "eviction"])],
        "1 while workers take no new jobs because of a backlog in an outgoing stream, because Redis is nearly out of "
            + "memory, or because its eviction policy may delete jobs."
    )
    public static let workersAlive = shared("fanfare_workers_alive", "Workers that hold a lease in the project.")

    static let fleet = [
        recipientsWaiting, recipientsRetrying, entriesWaiting, oldestWait, drain, fanoutsWaiting, fanoutActive,
        fanoutEpoch, cooldown, permits, permitRate, quota, deadJobs, jobsOpen, jobsParked, jobsScheduled,
        jobsStopped, resultsUnread, paused, unreachable, blocked, pressure, workersAlive,
    ]

    // MARK: Process

    public static let fleetAge = gauge(
        "fanfare_fleet_age_seconds",
        "Time since the gauges of the fleet were read from Redis."
    )
    public static let inFlight = gauge("fanfare_in_flight", "Requests in flight.")
    public static let connections = gauge(
        "fanfare_connections",
        labels: [project, transport],
        "Open connections that accept sends."
    )
    public static let projectInfo = gauge(
        "fanfare_project_info",
        labels: [project, .init("transport", transports), .init("engine", HTTPEngine.allCases.map(\.rawValue))],
        "1 for the transport and the HTTP engine that the project runs with."
    )
    public static let concurrencyLimit = gauge(
        "fanfare_concurrency_limit",
        "Requests that may be in flight at once, derived from FCM's answers."
    )
    public static let unwritten = gauge(
        "fanfare_results_unwritten",
        "Results and retries that Redis has not confirmed yet, which a crash would leave in doubt."
    )
    public static let credentialsReady = gauge(
        "fanfare_credentials_ready",
        "1 while the project's credentials let this worker send."
    )
    public static let redisConnected = gauge(
        "fanfare_redis_connected",
        labels: [],
        "1 while Redis answers this worker and has Fanfare's functions, or answers this gateway."
    )
    public static let sentinelsAgree = gauge(
        "fanfare_sentinels_agree",
        labels: [],
        "1 while a quorum of the Sentinels names the primary in use; only with Sentinels."
    )
    public static let configRefused = gauge(
        "fanfare_config_refused",
        labels: [],
        "1 while the configuration on disk, or a file in projects_dir or gateway.keys_dir, is refused and the process runs "
            + "under its last good state."
    )
    public static let configLoaded = gauge(
        "fanfare_config_loaded_timestamp_seconds",
        labels: [],
        "Unix time at which the process took up its configuration."
    )
    public static let loopTurn = gauge(
        "fanfare_loop_turn_seconds",
        labels: [],
        "The longest turn of the worker's loop in the last minute."
    )
    public static let buildInfo = gauge(
        "fanfare_build_info",
        labels: [.init("version")],
        "Always 1; the label is the running version."
    )
    public static let cpu = counter("process_cpu_seconds_total", labels: [], "User and system CPU time.")
    public static let memory = gauge("process_resident_memory_bytes", labels: [], "Resident memory.")
    public static let openFiles = gauge("process_open_fds", labels: [], "Open file descriptors.")
    public static let maximumFiles = gauge("process_max_fds", labels: [], "Maximum number of open file descriptors.")
    public static let startTime = gauge(
        "process_start_time_seconds",
        labels: [],
        "Unix time at which the process started."
    )

    static let process = [
        fleetAge, inFlight, connections, projectInfo, concurrencyLimit, unwritten, credentialsReady, redisConnected,
        sentinelsAgree, configLoaded, configRefused, loopTurn, buildInfo, cpu, memory, openFiles, maximumFiles,
        startTime,
    ]
}
