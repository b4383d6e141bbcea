internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// Routes a request and replies to it. Independent of the server, so that tests can call it directly.
struct DashboardRoutes<Redis: RedisSending>: Sendable {
    let options: DashboardOptions
    let hub: FleetHub
    let queries: DashboardQueries<Redis>
    let actions: DashboardActions<Redis>
    let explain: @Sendable (any Error) -> String
    /// The time since a fixed moment.
    let now: @Sendable () -> Duration
    private let sessions: Sessions

    init(
        options: DashboardOptions,
        hub: FleetHub,
        redis: Redis,
        explain: @escaping @Sendable (any Error) -> String,
        onAction: @escaping @Sendable (String, String, String) -> Void,
        onWrongToken: @escaping @Sendable (_ peer: String, _ isTooMany: Bool) -> Void,
        now: @escaping @Sendable () -> Duration
    ) {
        self.options = options
        self.hub = hub
        queries = DashboardQueries(redis: redis, prefix: options.prefix, projects: options.projects)
        actions = DashboardActions(redis: redis, prefix: options.prefix, projects: options.projects, onAction: onAction)
        sessions = Sessions(onWrongToken: onWrongToken)
        self.explain = explain
        self.now = now
    }

    func answer(_ request: WebRequest) async -> WebReply {
        let authorizer = RequestAuthorizer(options: options)
        if let refusal = await authorizer.refusal(of: request, sessions: sessions, now: now()) { return refusal }
        guard let parts = request.parts else { return .error(400, "bad_path", "The path is not valid.") }
        do {
            let reply: WebReply?
            switch request.method {
            case "GET": reply = try await get(request, parts)
            case "POST": reply = try await post(request, parts)
            default: return .error(405, "bad_method", "Only GET and POST are answered.")
            }
            return reply ?? .error(404, "not_found", "Not found.")
        } catch {
            return .error(503, "unavailable", explain(error))
        }
    }

    // MARK: Reading

    private func get(_ request: WebRequest, _ parts: [String]) async throws -> WebReply? {
        if let file = PageAssets.file(request.path) { return file }
        switch parts.first {
        case "session" where parts.count == 1: return await session(request)
        case "api": break
        default: return nil
        }
        switch parts.count {
        case 2 where parts[1] == "events":
            if let slot = hub.slots.acquire() { return .events(slot) }
            var reply = WebReply.error(503, "full", "Too many browsers follow this dashboard.")
            reply.headers.append(("Retry-After", "30"))
            return reply
        case 2 where parts[1] == "fleet":
            let (fleet, trouble) = await hub.current()
            if let fleet { return .json(fleet) }
            return .error(503, "unavailable", trouble ?? "The fleet has not been read yet.")
        case 2 where parts[1] == "jobs":
            guard let id = request.query["id"], Identifiers.isJob(id) else { return Self.badID }
            return try await queries.search(id)
        default: break
        }
        guard parts.count >= 4, parts[1] == "projects" else { return nil }
        guard ProjectID.isValid(parts[2]) else { return Self.badID }
        switch (parts[3], parts.count) {
        case ("jobs", 4): return try await queries.jobs(in: parts[2], state: request.query["state"])
        case ("dead", 4):
            let before = request.query["before"]
            guard before.map(Identifiers.isEntry) ?? true else { return Self.badID }
            return try await queries.dead(in: parts[2], before: before)
        case ("jobs", 5), ("jobs", 6):
            guard Identifiers.isJob(parts[4]) else { return Self.badID }
            if parts.count == 5 { return try await queries.job(parts[4], in: parts[2]) }
            guard parts[5] == "results" else { return nil }
            return try await queries.results(
                of: parts[4],
                in: parts[2],
                after: request.query["after"],
                failedOnly: request.query["failed"] == "1"
            )
        default: return nil
        }
    }

    private static var badID: WebReply {
        .error(400, "bad_id", "That is not a valid id of a project, a job or an entry.")
    }

    /// What the page needs before it logs in; needs no token.
    private func session(_ request: WebRequest) async -> WebReply {
        let isKnown =
            await RequestAuthorizer(options: options).authentication(of: request, sessions: sessions, now: now())
            == .authenticated
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
            var reply = WebReply.json(["outcome": "closed"])
            reply.headers = [("Set-Cookie", Self.cookie("", seconds: 0))]
            return reply
        default: break
        }
        guard parts.count >= 4, parts[0] == "api", parts[1] == "projects" else { return nil }
        guard ProjectID.isValid(parts[2]) else { return Self.badID }
        if parts.count == 4 { return try await actions.project(parts[3], parts[2], body) }
        guard parts.count == 6 else { return nil }
        switch parts[3] {
        case "jobs":
            guard Identifiers.isJob(parts[4]) else { return Self.badID }
            return try await actions.job(parts[5], parts[4], in: parts[2])
        case "dead":
            guard Identifiers.isEntry(parts[4]) else { return Self.badID }
            return try await actions.dead(parts[5], parts[4], in: parts[2])
        default: return nil
        }
    }

    private func login(_ body: JSONObject, peer: String, isSecure: Bool) async -> WebReply {
        var reply = WebReply.json(["outcome": "open"])
        guard let token = options.token else { return reply }
        guard BearerToken(token).accepts(body["token"]?.string ?? "") else {
            let isCounted = await sessions.refuse(peer: peer, now: now())
            return isCounted ? .error(401, "wrong_token", "That is not the token.") : .tooManyTokens
        }
        let session = await sessions.open(now: now())
        reply.headers = [("Set-Cookie", Self.cookie(session, seconds: 12 * 3_600) + (isSecure ? "; Secure" : ""))]
        return reply
    }

    /// A cookie that scripts cannot read and other sites do not send.
    private static func cookie(_ value: String, seconds: Int) -> String {
        "\(RequestAuthorizer.cookie)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict"
    }
}
