/// Metrics of `fanfare gateway`.
///
/// The label `key` has the names of the first hundred keys that make a request, `_other` for the requests of all other keys, and
/// `_none` for requests without a key of the gateway. No key can have these two names.
extension MetricCatalogue {
    static let key = Metric.Label("key")
    static let api = Metric.Label("api", ["v1", "legacy", "management", "own", "token", "other"])

    public static let gatewayRequests = counter(
        "fanfare_gateway_requests_total",
        labels: [key, .init("class", ["2xx", "4xx", "5xx", "left"])],
        "Requests of a key, by the class of their status; left: the client was gone before its answer. The key is _none "
            + "without a key of the gateway, and _other after the first hundred keys."
    )
    public static let gatewayAnswers = counter(
        "fanfare_gateway_answers_total",
        labels: [key, .init("outcome", ["in_time", "deferred", "pushed", "unknown", "repeated"])],
        "Answers to requests that became a job. in_time: with the results; deferred: a success without FCM's own id, "
            + "because a result did not come in time; pushed: without a wait; unknown: FCM or Redis gave no answer; repeated: "
            + "with the job or the answer of an earlier equal request."
    )
    public static let gatewayRefusals = counter(
        "fanfare_gateway_refusals_total",
        labels: [key, .init("reason", ["request", "key", "permission", "not_found", "rate", "unavailable"])],
        "Requests that the gateway itself refused. request: it breaks a rule; key: no key of the gateway; permission: a "
            + "project or right that the key has not; not_found: no such job; rate: the key's rate, or too many wrong keys; "
            + "unavailable: Redis is away, or too many requests wait or are large."
    )
    public static let gatewayJobs = counter(
        "fanfare_gateway_jobs_total",
        labels: [key],
        "Jobs that the gateway pushed. Sends that arrive together share one."
    )
    public static let gatewayRecipients = counter(
        "fanfare_gateway_recipients_total",
        labels: [key],
        "Recipients of these jobs, without the recipients of audiences."
    )
    public static let gatewayAnswerTime = histogram(
        "fanfare_gateway_answer_seconds",
        [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 10, 30, 60],
        labels: [api],
        "From a whole request to its answer. management: topics and groups; own: Fanfare's API."
    )
    public static let gatewayWaiting = gauge(
        "fanfare_gateway_requests_waiting",
        labels: [],
        "Requests without an answer yet."
    )
    public static let gatewayConnections = gauge(
        "fanfare_gateway_connections",
        labels: [],
        "Open connections of clients."
    )
    public static let gatewayCertificate = gauge(
        "fanfare_gateway_certificate_expiry_timestamp_seconds",
        labels: [],
        "Unix time at which the gateway's certificate expires; only with one."
    )

    static let gateway = [
        gatewayRequests, gatewayAnswers, gatewayRefusals, gatewayJobs, gatewayRecipients, gatewayAnswerTime,
        gatewayWaiting, gatewayConnections, gatewayCertificate,
    ]
}
