internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel
internal import NIOConcurrencyHelpers

/// Answers requests: admits their key, and hands them to what serves their ``GatewayPath``.
struct GatewayRoutes: Sendable {
    let gate: NIOLockedValueBox<KeyGate>
    let v1: V1Route
    let legacy: LegacyRoute
    let management: ManagementServing
    let tokens: TokenRoute
    let own: OwnRoutes
    /// Whether every client has the address of one proxy.
    let isBehindProxy: Bool
    let meters: GatewayMetrics

    static func maximumBodyBytes(_ path: String) -> Int {
        switch GatewayPath(path) {
        case .v1: V1Request.maximumBytes
        case .token: TokenGrant.maximumBytes
        case .own(.jobs): JobRequest.maximumBytes
        case .legacy, .management, .own, .other: LegacyRoute.maximumBytes
        }
    }

    /// Bytes of a body that is read as it comes; nil for a body that is read whole.
    static func maximumStreamedBytes(_ request: WebRequest) -> Int? {
        guard request.method == "PUT", case .own(.audience) = GatewayPath(request.path) else { return nil }
        return AudienceRoute.maximumBytes
    }

    /// Begins to answer a request.
    ///
    /// - Parameter answer: called once, on any thread.
    /// - Returns: what to call when the client leaves before the answer.
    func begin(_ request: WebRequest, _ answer: @escaping @Sendable (WebReply) -> Void) -> @Sendable () -> Void {
        let path = GatewayPath(request.path)
        let tally = meters.begin(api: path.api)
        let leave: @Sendable () -> Void
        if case .own(let route) = path {
            let task = Task { answer(await serve(request, nil, route, tally)) }
            leave = { task.cancel() }
        } else {
            leave = begin(request, path, tally) { [meters] reply in
                var written = WebReply(reply.answer)
                written.onEnd = reply.onEnd
                meters.end(tally, written)
                answer(written)
            }
        }
        return {
            tally.markLeft()
            leave()
        }
    }

    /// Answers a request whose body is read as it comes. The task is cancelled when the client leaves.
    func answer(_ request: WebRequest, _ body: RequestBody) async -> WebReply {
        let path = GatewayPath(request.path)
        guard case .own(let route) = path else { return WebReply(GatewayError.route.v1Answer) }
        let tally = meters.begin(api: path.api)
        return await withTaskCancellationHandler {
            await serve(request, body, route, tally)
        } onCancel: {
            tally.markLeft()
        }
    }

    private func serve(
        _ request: WebRequest,
        _ body: RequestBody?,
        _ route: OwnRoute,
        _ tally: RequestTally
    ) async -> WebReply {
        let reply = await own.answer(request, body, route) { request throws(KeyFault) in try admit(request, tally) }
        meters.end(tally, reply)
        return reply
    }

    private func begin(
        _ request: WebRequest,
        _ path: GatewayPath,
        _ tally: RequestTally,
        _ reply: @escaping @Sendable (GatewayReply) -> Void
    ) -> @Sendable () -> Void {
        func end(_ answer: ServedAnswer) -> @Sendable () -> Void { GatewayReply(answer).end(reply) }
        switch path {
        case .v1(let project):
            do throws(KeyFault) {
                let key = try admit(request, tally)
                guard request.method == "POST" else { return end(GatewayError.method(allowed: "POST").v1Answer) }
                try key.permit(.push, on: project)
                return v1.begin(SendCall(request: request, key: key, project: project, tally: tally), reply)
            } catch {
                return end(error.refusal(project).v1Answer)
            }
        case .legacy: return beginLegacy(request, tally, reply)
        case .token: return end(tokens.answer(request, from: address(of: request)))
        case .management(let route): return begin(request, route, tally, reply)
        case .own, .other:
            do throws(KeyFault) { _ = try admit(request, tally) } catch { return end(error.refusal("").v1Answer) }
            return end(GatewayError.route.v1Answer)
        }
    }

    private func begin(
        _ request: WebRequest,
        _ route: ManagementRoute,
        _ tally: RequestTally,
        _ reply: @escaping @Sendable (GatewayReply) -> Void
    ) -> @Sendable () -> Void {
        func refuse(_ error: GatewayError) -> @Sendable () -> Void {
            GatewayReply(ManagementAnswer.refusal(error, route: route)).end(reply)
        }
        guard route.methods.contains(request.method) else {
            return refuse(.method(allowed: route.methods.joined(separator: ", ")))
        }
        var project = route.project ?? ""
        do throws(KeyFault) {
            let key = try admit(request, tally)
            if route.project == nil { project = try key.onlyProject() }
            try key.permit(.push, on: project)
            let call = SendCall(request: request, key: key, project: project, tally: tally)
            return management.begin(call, route, reply)
        } catch {
            return refuse(error.refusal(project))
        }
    }

    private func beginLegacy(
        _ request: WebRequest,
        _ tally: RequestTally,
        _ reply: @escaping @Sendable (GatewayReply) -> Void
    ) -> @Sendable () -> Void {
        func refuse(_ error: GatewayError) -> @Sendable () -> Void { GatewayReply(error.legacyAnswer).end(reply) }
        guard request.method == "POST" else { return refuse(.method(allowed: "POST")) }
        do throws(KeyFault) {
            let key = try admit(request, tally)
            let project = try key.onlyProject()
            try key.permit(.push, on: project)
            return legacy.begin(SendCall(request: request, key: key, project: project, tally: tally), reply)
        } catch {
            return refuse(error.refusal(""))
        }
    }

    static func needsKey(_ path: String) -> Bool { path != GatewayPath.tokenPath }

    /// Whether the body of a request is read: the key of its header is one of the gateway's, or the path needs none. Counts
    /// nothing.
    func reads(_ authorization: String?, path: String) -> Bool {
        guard Self.needsKey(path) else { return true }
        guard let shown = Self.key(in: authorization).flatMap(tokens.shown) else { return false }
        return gate.withLockedValue { $0.knows(shown.digest) }
    }

    /// The address that wrong keys are counted by; nil where many clients share one.
    private func address(of request: WebRequest) -> String? {
        isBehindProxy || request.peer.isEmpty ? nil : request.peer
    }

    private func admit(_ request: WebRequest, _ tally: RequestTally) throws(KeyFault) -> GatewayKey {
        let shown = Self.key(in: request.headers["authorization"]).flatMap(tokens.shown)
        let address = address(of: request)
        let result: Result<GatewayKey, KeyFault> = gate.withLockedValue { gate in
            do throws(KeyFault) {
                return .success(try gate.admit(shown, from: address, now: tokens.now()))
            } catch {
                return .failure(error)
            }
        }
        let key = try result.get()
        tally.recordKey(key.name)
        return key
    }

    /// The key of `Authorization: Bearer KEY`, or of `key=KEY` over the legacy APIs; nil for any other text.
    private static func key(in header: String?) -> Substring? {
        guard let header, let scheme = ["bearer ", "key="].first(where: header.lowercased().hasPrefix) else {
            return nil
        }
        let key = header.dropFirst(scheme.count).drop { $0 == " " }
        return key.isEmpty ? nil : key
    }
}

extension KeyFault {
    /// - Parameter project: that the request names.
    func refusal(_ project: String) -> GatewayError {
        switch self {
        case .missing: .noKey
        case .wrong: .wrongKey
        case .expired: .expiredToken
        case .project: .project(project)
        case .severalProjects(let key, let projects): .severalProjects(key: key, projects)
        case .right(let right): .right(right.rawValue)
        case .rate(let seconds): .rate(retryAfterMs: Int64(seconds) * 1_000)
        case .address(let seconds): .manyWrongKeys(retryAfterMs: Int64(seconds) * 1_000)
        }
    }
}
