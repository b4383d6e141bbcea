internal import CoreMetrics
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareModel

/// Decides the answer to an admin request. Does no I/O, so that tests can call it directly.
struct AdminResponder: Sendable {
    struct Request {
        var method: String
        var path: String
        /// The `Host` header; nil if there is none.
        var host: String?
        var authorization: String?
    }

    struct Answer: Equatable {
        var status: Int
        var contentType = "text/plain; charset=utf-8"
        var body = ""
        /// Headers besides those of every answer.
        var headers: [String: String] = [:]
    }

    let probes: AdminProbes
    /// nil if requests need no token.
    let token: BearerToken?
    /// Whether `Host` must name this machine, which protects against DNS rebinding.
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
            return Answer(status: 403, body: "This address only accepts names of this machine.\n")
        }
        let isAuthorised = token.map { $0.accepts(authorization: request.authorization) } ?? true
        switch request.path {
        case "/healthz": return probe(request, isAuthorised, probes.health, good: "ok", bad: "stalled")
        case "/readyz": return probe(request, isAuthorised, probes.readiness, good: "ready", bad: "unavailable")
        default: break
        }
        // Without the token, do not reveal which paths exist.
        guard isAuthorised else {
            return Answer(
                status: 401,
                body: "A bearer token is needed.\n",
                headers: ["WWW-Authenticate": "Bearer realm=\"fanfare\""]
            )
        }
        guard request.path == "/metrics" else { return Answer(status: 404, body: "Not found.\n") }
        return reading(request) {
            Answer(
                status: 200,
                contentType: PrometheusText.contentType,
                body: PrometheusText.render(probes.registry)
            )
        }
    }

    /// Answers a probe. Orchestrators need no token, but get no details without it.
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

    /// Answers GET and HEAD only.
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
