internal import CoreMetrics
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareModel

/// Decides what an admin request is answered. Without I/O, so that every rule can be tested alone.
struct AdminResponder: Sendable {
    struct Request {
        var method: String
        var path: String
        /// The `Host` header; nil when there is none.
        var host: String?
        var authorization: String?
    }

    struct Answer: Equatable {
        var status: Int
        var contentType = "text/plain; charset=utf-8"
        var body = ""
        /// Beside those that every answer has.
        var headers: [String: String] = [:]
    }

    let probes: AdminProbes
    /// nil where whoever can connect may ask.
    let token: BearerToken?
    /// Only names of this machine are answered to: a web page that is open here must not read on under its own name.
    let checksHost: Bool

    func answer(_ request: Request) -> Answer {
        let answer = decide(request)
        let known = ["/metrics", "/healthz", "/readyz"].contains(request.path) ? request.path : "other"
        Counter(
            label: MetricCatalogue.adminRequests.name,
            dimensions: [("path", known), ("code", "\(answer.status)")]
        ).increment()
        return answer
    }

    private func decide(_ request: Request) -> Answer {
        if checksHost, let host = request.host, !Self.isLocal(host) {
            return Answer(status: 403, body: "This address answers to names of this machine only.\n")
        }
        let isAuthorised = token.map { $0.accepts(authorization: request.authorization) } ?? true
        switch request.path {
        case "/healthz": return probe(request, isAuthorised, probes.health, good: "ok", bad: "stalled")
        case "/readyz": return probe(request, isAuthorised, probes.readiness, good: "ready", bad: "unavailable")
        default: break
        }
        // Whoever may not ask does not learn what there is.
        guard isAuthorised else {
            return Answer(
                status: 401,
                body: "A bearer token is needed.\n",
                headers: ["WWW-Authenticate": "Bearer realm=\"fanfare\""]
            )
        }
        guard request.path == "/metrics" else { return Answer(status: 404, body: "Nothing is here.\n") }
        return reading(request) { Answer(status: 200, contentType: probes.metricsType, body: probes.metrics()) }
    }

    /// Orchestrators ask without a token; they get the verdict, and nothing of what is behind it.
    private func probe(
        _ request: Request,
        _ isAuthorised: Bool,
        _ read: @Sendable () -> AdminReport,
        good: String,
        bad: String
    ) -> Answer {
        reading(request) {
            let report = read()
            var object: JSONObject = ["status": .string(report.isGood ? good : bad)]
            if isAuthorised { object.members += report.details.members }
            return Answer(
                status: report.isGood ? 200 : 503,
                contentType: "application/json",
                body: JSONValue.object(object).jsonText + "\n"
            )
        }
    }

    /// Nothing here changes anything, whatever the method.
    private func reading(_ request: Request, _ body: () -> Answer) -> Answer {
        guard request.method == "GET" || request.method == "HEAD" else {
            return Answer(status: 405, body: "GET only.\n", headers: ["Allow": "GET, HEAD"])
        }
        return body()
    }

    /// Whether a `Host` header names this machine, whatever its port.
    static func isLocal(_ host: String) -> Bool {
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return false }
            return Loopback.names(host[...end])
        }
        return Loopback.names(host.prefix { $0 != ":" })
    }
}
