internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON
internal import FanfareModel
internal import FanfarePages
internal import Logging

/// Routes a request and replies to it. Independent of the server, so that tests can call it directly.
struct DashboardRoutes<Redis: RedisSending>: Sendable {
    let options: DashboardOptions
    let hub: FleetHub
    let redis: Redis
    /// Downloads that run at once: each reads a stream to its end.
    let downloads = StreamSlots(limit: 4)
    /// The chart of all projects.
    let chart = CachedReply()
    let logger: Logger
    /// The text of an error for users.
    let explain: @Sendable (any Error) -> String
    /// Reads the state of Redis; nil if this dashboard shows none.
    var examine: (@Sendable () async throws -> JSONObject)?
    let sessions: Sessions
    /// The time since a fixed moment.
    let now: @Sendable () -> Duration

    private var authorizer: RequestAuthorizer { RequestAuthorizer(options: options) }

    func projectOperator(_ project: String) -> FanfareOperator<Redis> {
        FanfareOperator(redis: redis, project: project, prefix: options.prefix)
    }

    func answer(_ request: WebRequest) async -> WebReply {
        // A probe may use any name, and learns only that the process answers.
        if request.path == "/healthz", request.isRead { return .text("ok\n") }
        if let error = await authorizer.error(for: request, sessions: sessions, now: now()) { return error }
        guard let parts = request.parts else { return .error(400, "bad_path", "The path is not valid.") }
        do {
            let reply: WebReply?
            switch request.method {
            case "GET", "HEAD": reply = try await get(request, parts)
            case "POST": reply = try await post(request, parts)
            default:
                let allow = [(name: "Allow", value: "GET, HEAD, POST")]
                return .error(405, "bad_method", "Only GET, HEAD and POST are answered.", headers: allow)
            }
            return reply ?? .error(404, "not_found", "Not found.")
        } catch {
            return .error(503, "unavailable", explain(error))
        }
    }

    // MARK: Reading

    private func get(_ request: WebRequest, _ parts: [String]) async throws -> WebReply? {
        if let file = PageAssets.file(request.path) ?? PageAssets.page(parts, path: request.path) { return file }
        switch parts {
        case ["session"]: return await session(request)
        case ["api", "events"]:
            let project = request.query["project"]
            guard project.map(ProjectID.isValid) ?? true else { return Self.badID }
            if request.method == "HEAD" { return .events(nil) }
            if let slot = hub.slots.acquire() { return .events(hub.events(of: project, for: slot)) }
            return .error(503, "full", "Too many browsers follow this dashboard.", headers: [("Retry-After", "30")])
        case ["api", "fleet"]:
            let (fleet, readError) = await hub.current()
            if let fleet { return .json(fleet) }
            return .error(503, "unavailable", readError ?? Self.unread)
        case ["metrics"]:
            let (snapshot, readError) = await hub.currentSnapshot()
            if let snapshot { return .text(FleetExposition.text(snapshot), type: FleetExposition.contentType) }
            // A figure of the past would pass for one of now: Prometheus takes this as a target that is down.
            return .error(503, "unavailable", readError ?? Self.unread)
        case ["api", "jobs"]:
            guard let id = request.query["id"] else { return try await listFleetJobs(request.query) }
            return Identifiers.isJob(id) ? try await search(id) : Self.badID
        case ["api", "audit"]: return try await audit(of: nil)
        case ["api", "history"]: return try await fleetHistory()
        case ["api", "redis"]: return try await redisReport()
        case ["api", "runbook"]: return Self.runbook("")
        case let named where named.count == 3 && named.starts(with: ["api", "runbook"]): return Self.runbook(named[2])
        default: break
        }
        guard isInProject(parts) else { return nil }
        guard hasValidIDs(parts) else { return Self.badID }
        if let reply = try await getJobs(request, parts) { return reply }
        switch (parts[3], parts.count) {
        case ("audit", 4): return try await audit(of: parts[2])
        case ("dead", 4):
            let before = request.query["before"]
            // No entry is older than 0-0, and Redis refuses it as an exclusive end.
            guard before.map({ Identifiers.isEntry($0) && !$0.allSatisfy("0-".contains) }) ?? true else {
                return Self.badID
            }
            return try await listDead(in: parts[2], kind: request.query["kind"], before: before)
        case ("dead", 5): return try await showDead(parts[4], in: parts[2])
        default: return nil
        }
    }

    /// A page of the Runbook as Markdown, which the page draws.
    private static func runbook(_ name: String) -> WebReply? {
        RunbookPages.page(name).map { .json(["text": .string(String(decoding: $0, as: UTF8.self))]) }
    }

    private static var unread: String { "The fleet has not been read yet." }

    private func isInProject(_ parts: [String]) -> Bool { parts.count >= 4 && parts.starts(with: ["api", "projects"]) }

    /// Checks the ids of the project and of the job or the entry of `dead`.
    private func hasValidIDs(_ parts: [String]) -> Bool {
        guard ProjectID.isValid(parts[2]) else { return false }
        guard parts.count > 4 else { return true }
        return parts[3] == "dead" ? Identifiers.isEntry(parts[4]) : Identifiers.isJob(parts[4])
    }

    static var badID: WebReply {
        .error(400, "bad_id", "That is not a valid id of a project, a job or an entry.")
    }

    /// The state of the login and the options, which the page reads before it logs in. Needs no token.
    private func session(_ request: WebRequest) async -> WebReply {
        let isKnown = await authorizer.loginError(of: request, sessions: sessions, now: now()) == nil
        var object: JSONObject = [
            "needs_token": .bool(options.token != nil), "known": .bool(isKnown), "read_only": .bool(options.isReadOnly),
        ]
        if isKnown {
            object["version"] = .string(FanfareVersion.current)
            object["full"] = .bool(hub.slots.isFull)
        }
        return .json(object)
    }

    // MARK: Changing

    private func post(_ request: WebRequest, _ parts: [String]) async throws -> WebReply? {
        guard let body = request.object else { return .error(400, "bad_body", "The body is not a JSON object.") }
        switch parts {
        case ["login"]:
            // Behind a TLS proxy the cookie must be sent over TLS only.
            let isSecure = request.headers["origin"]?.lowercased().hasPrefix("https://") == true
            return await login(body, peer: request.peer, isSecure: isSecure)
        case ["logout"]:
            if let name = request.cookie(RequestAuthorizer.cookie) { await sessions.close(name) }
            return .json(["outcome": "closed"], headers: [("Set-Cookie", Self.cookie("", seconds: 0))])
        case ["api", "token"]: return try await story(body)
        default: break
        }
        if parts.count == 3, parts.starts(with: ["api", "jobs"]) {
            return try await changeJobs(parts[2], Change(actor: ActorName.of(request, options), body: body))
        }
        guard isInProject(parts) else { return nil }
        guard hasValidIDs(parts) else { return Self.badID }
        let change = Change(actor: ActorName.of(request, options), body: body)
        switch (parts[3], parts.count) {
        case (let action, 4): return try await changeProject(action, parts[2], change)
        case ("jobs", 6): return try await changeJob(parts[5], parts[4], in: parts[2], change)
        case ("dead", 6): return try await treatEntry(parts[5], parts[4], in: parts[2], change)
        default: return nil
        }
    }

    private func login(_ body: JSONObject, peer: String, isSecure: Bool) async -> WebReply {
        guard let token = options.token else { return .json(["outcome": "open"]) }
        guard BearerToken(token).accepts(body["token"]?.string ?? "") else {
            let isCounted = await sessions.refuse(peer: peer, now: now())
            return isCounted ? .error(401, "wrong_token", "That is not the token.") : .tooManyTokens
        }
        let cookie = Self.cookie(await sessions.open(now: now()), seconds: 12 * 3_600) + (isSecure ? "; Secure" : "")
        return .json(["outcome": "open"], headers: [("Set-Cookie", cookie)])
    }

    /// A cookie that scripts cannot read and other sites do not send. Without a path it is valid where the login was
    /// requested: below the prefix of a proxy, if there is one.
    private static func cookie(_ value: String, seconds: Int) -> String {
        "\(RequestAuthorizer.cookie)=\(value); Max-Age=\(seconds); HttpOnly; SameSite=Strict"
    }
}
