internal import FanfareModel

/// Every metric of Fanfare. Tests check dashboards, alerts and the page Metrics against it.
public enum MetricCatalogue {
    /// In the order of the documentation.
    public static let all: [Metric] = counters + histograms + fleet + process + gateway

    /// The metric with a name; nil if there is none.
    public static func metric(named name: String) -> Metric? { byName[name] }

    private static let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    // MARK: Labels

    static let project = Metric.Label("project")
    static let transports = Transport.allCases.map { $0.traits().label }
    /// `management`: subscriptions and operations on groups, which carry no message.
    static let transport = Metric.Label("transport", transports + ["management"])

    // MARK: Kinds; without labels given, one series for each project

    static func counter(_ name: String, labels: [Metric.Label] = [project], _ help: String) -> Metric {
        Metric(name: name, kind: .counter, scope: .process, labels: labels, help: help)
    }

    static func gauge(_ name: String, labels: [Metric.Label] = [project], _ help: String) -> Metric {
        Metric(name: name, kind: .gauge, scope: .process, labels: labels, help: help)
    }

    static func histogram(
        _ name: String,
        _ bounds: [Double],
        labels: [Metric.Label] = [project],
        _ help: String
    ) -> Metric {
        Metric(name: name, kind: .histogram(bounds), scope: .process, labels: labels, help: help)
    }

    /// A gauge that every worker reads from Redis.
    static func shared(_ name: String, labels: [Metric.Label] = [project], _ help: String) -> Metric {
        Metric(name: name, kind: .gauge, scope: .fleet, labels: labels, help: help)
    }

    // MARK: Counters

    public static let sends = counter(
        "fanfare_sends_total",
        labels: [
            project, transport,
            .init(
                "verdict",
                ["sent", "failed", "unknown", "retry", "managed", "credential_refused", "project_blocked"]
            ),
        ],
        "Attempts that ended, one for each recipient of a request, by the verdict on the answer. sent: accepted by FCM, "
            + "not yet delivered or shown."
    )
    public static let results = counter(
        "fanfare_results_total",
        labels: [project, .init("status", ["sent", "failed", "unknown", "cancelled", "expired"])],
        "Recipients that got their final result. sent: accepted by FCM, not yet delivered or shown."
    )
    public static let failures = counter(
        "fanfare_failures_total",
        labels: [
            project,
            .init(
                "error",
                [
                    "UNREGISTERED", "INVALID_ARGUMENT", "SENDER_ID_MISMATCH", "THIRD_PARTY_AUTH_ERROR",
                    "QUOTA_EXCEEDED", "UNAVAILABLE", "INTERNAL", "UNSPECIFIED_ERROR", "TRANSPORT", "EMPTY_GROUP",
                    "TOO_MANY_TOPICS",
                ]
            ),
        ],
        "Recipients whose result is failed, by its error."
    )
    public static let retries = counter(
        "fanfare_retries_total",
        labels: [project, .init("cause", ["unsent", "refused", "answered", "unanswered"])],
        "Recipients put back for another attempt, by the state of the last one. unanswered: the body was sent and no "
            + "answer came."
    )
    public static let maybeDuplicates = counter(
        "fanfare_maybe_duplicates_total",
        "Results flagged maybe_dup: the recipient may have got the message more than once."
    )
    public static let refusals = counter(
        "fanfare_refusals_total",
        labels: [project, .init("kind", ["project", "device", "server"])],
        "Answers that hold sends. project: FCM's rate for the project; device: for one device or topic; "
            + "server: a 5xx."
    )
    public static let jobs = counter(
        "fanfare_jobs_total",
        labels: [project, .init("outcome", ["accepted", "duplicate", "rejected"])],
        "Jobs taken from the job stream, by outcome."
    )
    public static let batches = counter(
        "fanfare_batches_total",
        labels: [project, .init("outcome", ["closed", "returned", "lost"])],
        "Batches that this worker no longer holds. returned: given back for other workers; lost: taken over because "
            + "the worker was declared dead, or forgotten by Redis."
    )
    public static let guardPauses = counter(
        "fanfare_jobs_paused_total",
        labels: [project, .init("guard", ["canary", "stop_if", "message"])],
        "Jobs that workers paused: the canary is over, a condition of stop_if holds, or FCM refuses the message."
    )
    public static let takeovers = counter(
        "fanfare_takeovers_total",
        "Batches taken over from a worker that died or gave them back."
    )
    public static let repairs = counter(
        "fanfare_jobs_repaired_total",
        "Jobs ended by a repair: every recipient had its result, and the job counted some as open."
    )
    public static let redisErrors = counter(
        "fanfare_redis_errors_total",
        labels: [],
        "Commands that Redis refused or did not answer."
    )
    public static let redisReconnects = counter(
        "fanfare_redis_reconnects_total",
        labels: [],
        "Connections to Redis that were opened after one was lost."
    )
    public static let configReloads = counter(
        "fanfare_config_reloads_total",
        labels: [.init("result", ["accepted", "refused"])],
        "Changed configurations, or keys of a gateway, that the process read while it ran. refused: they were, or a file in "
            + "projects_dir was."
    )
    public static let adminRequests = counter(
        "fanfare_admin_requests_total",
        labels: [
            .init("path", ["/metrics", "/healthz", "/readyz", "other"]),
            .init("code", ["200", "401", "403", "404", "405", "503"]),
        ],
        "Requests to the admin address."
    )

    public static let telemetry = counter(
        "fanfare_telemetry_items_total",
        labels: [.init("signal", ["spans", "metrics"]), .init("outcome", ["exported", "dropped", "failed"])],
        "Spans, and points of metrics, for the OTLP collector. exported: the collector accepted them; dropped: the queue "
            + "was full; failed: the collector refused them, or could not be reached in time."
    )

    static let counters = [
        sends, results, failures, retries, maybeDuplicates, refusals, jobs, batches, takeovers, guardPauses, repairs,
        redisErrors, redisReconnects, configReloads, adminRequests, telemetry,
    ]

    // MARK: Histograms, in seconds

    public static let sendLatency = histogram(
        "fanfare_send_latency_seconds",
        [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
        labels: [project, transport],
        "From handing a request to its connection until its answer, one for each request."
    )
    public static let queueWait = histogram(
        "fanfare_queue_wait_seconds",
        [0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 21_600],
        "From a job's push, or its not_before, until the first send of one of its batches, counted for every "
            + "recipient of the batch. Retries are left out."
    )
    public static let batchTime = histogram(
        "fanfare_batch_seconds",
        [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
        "From claiming a batch until its last result or retry is written."
    )
    public static let retryDelay = histogram(
        "fanfare_retry_delay_seconds",
        [1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600],
        "Delay of recipients before their next attempt."
    )

    static let histograms = [sendLatency, queueWait, batchTime, retryDelay]
}
