internal import CoreMetrics
internal import FanfareHTTP
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareModel

/// Decides the answer to an admin request. Does no I/O, so that tests can call it directly.
struct AdminResponder: Sendable {
    let probes: AdminProbes
    let bearer: BearerCheck
    /// Whether `Host` must name this machine, which protects against DNS rebinding.
    let checksHost: Bool

    func answer(_ request: WebRequest) -> WebReply {
        var reply = decide(request)
        reply.headers += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        let known = ["/metrics", "/healthz", "/readyz"].contains(request.path) ? request.path : "other"
        Counter(
            label: MetricCatalogue.adminRequests.name,
            dimensions: [("path", known), ("code", "\(reply.status)")]
        ).increment()
        return reply
    }

    private func decide(_ request: WebRequest) -> WebReply {
        if checksHost, request.headers["host"] != nil, !Loopback.names(request.host ?? "") {
            return .text("This address only accepts names of this machine.\n", status: 403)
        }
        let isAuthorised = bearer.check(request) == .accepted
        switch request.path {
        case "/healthz": return probe(request, isAuthorised, probes.health, good: "ok", bad: "stalled")
        case "/readyz": return probe(request, isAuthorised, probes.readiness, good: "ready", bad: "unavailable")
        default: break
        }
        // Without the token, do not reveal which paths exist.
        guard isAuthorised else {
            return .text("A bearer token is needed.\n", status: 401, headers: [BearerCheck.challenge])
        }
        guard request.path == "/metrics" else { return .text("Not found.\n", status: 404) }
        return reading(request) {
            .text(PrometheusText.render(probes.registry), type: PrometheusText.contentType)
        }
    }

    /// Answers a probe. Orchestrators need no token, but get no details without it.
    private func probe(
        _ request: WebRequest,
        _ isAuthorised: Bool,
        _ read: @Sendable () -> AdminReport,
        good: String,
        bad: String
    ) -> WebReply {
        reading(request) {
            let report = read()
            var object: JSONObject = ["status": .string(report.isGood ? good : bad)]
            if isAuthorised { object.members += report.details.members }
            let text = JSONValue.object(object).jsonText + "\n"
            return .text(text, status: report.isGood ? 200 : 503, type: "application/json")
        }
    }

    /// Answers GET and HEAD only.
    private func reading(_ request: WebRequest, _ reply: () -> WebReply) -> WebReply {
        request.isRead ? reply() : .text("GET only.\n", status: 405, headers: [("Allow", "GET, HEAD")])
    }
}
