internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel
internal import NIOConcurrencyHelpers

/// Answers requests: admits their key, and hands them to what serves their ``GatewayPath``.
struct GatewayRoutes<Redis: RedisSending>: Sendable {
    let gate: NIOLockedValueBox<KeyGate>
    let v1: V1Route<Redis>
    let legacy: LegacyRoute<Redis>
    let management: ManagementServing<Redis>
    let tokens: TokenRoute
    let own: OwnRoutes<Redis>
    /// Whether every client has the address of one proxy.
    let isBehindProxy: Bool
    let meters: GatewayMetrics

    static func maximumBodyBytes(_ path: String) -> Int {
        switch GatewayPath(path) {
        case .v1: V1Request.maximumBytes
        case .token: TokenGrant.maximumBytes
        case .own(.jobs): JobRequest.maximumBytes
        case .legacy, .management, .own, .other: LegacyRoute<Redis>.maximumBytes
        }
    }

    /// Bytes of a body that is read as it comes; nil for a body that is read whole.
    static func maximumStreamedBytes(_ request: WebRequest) -> Int? {
        guard request.method == "PUT", case .own(.audience) = GatewayPath(request.path) else { return nil }
        return AudienceRoute<Redis>.maximumBytes
    }

    /// - Parameter body: of a request whose body is read as it comes.
    func answer(_ request: WebRequest, _ body: RequestBody? = nil) async -> WebReply {
        let path = GatewayPath(request.path)
        return await meters.counted(api: path.api) {
            if case .own(let route) = path { return await own.answer(request, body, route, admit: admit) }
            let reply = await serve(request, path)
            var written = WebReply(reply.answer)
            written.onEnd = reply.onEnd
            return written
        }
    }

    private func serve(_ request: WebRequest, _ path: GatewayPath) async -> GatewayReply {
        switch path {
        case .v1(let project): return await serveV1(request, project)
        case .legacy: return await serveLegacy(request)
        case .token: return GatewayReply(tokens.answer(request, from: address(of: request)))
        case .management(let route): return await serve(request, route)
        case .own, .other:
            do throws(KeyFault) { _ = try admit(request) } catch { return GatewayReply(error.refusal("").v1Answer) }
            return GatewayReply(GatewayError.route.v1Answer)
        }
    }

    private func serveV1(_ request: WebRequest, _ project: String) async -> GatewayReply {
        do throws(KeyFault) {
            let key = try admit(request)
            guard request.method == "POST" else { return GatewayReply(GatewayError.method(allowed: "POST").v1Answer) }
            try key.permit(.push, on: project)
            return await v1.answer(request, key: key, project: project)
        } catch {
            return GatewayReply(error.refusal(project).v1Answer)
        }
    }

    private func serve(_ request: WebRequest, _ route: ManagementRoute) async -> GatewayReply {
        guard route.methods.contains(request.method) else {
            let methods = route.methods.joined(separator: ", ")
            return GatewayReply(ManagementAnswer.refusal(.method(allowed: methods), route: route))
        }
        var project = route.project ?? ""
        do throws(KeyFault) {
            let key = try admit(request)
            if route.project == nil { project = try key.onlyProject() }
            try key.permit(.push, on: project)
            return await management.answer(request, route, key: key, project: project)
        } catch {
            return GatewayReply(ManagementAnswer.refusal(error.refusal(project), route: route))
        }
    }

    private func serveLegacy(_ request: WebRequest) async -> GatewayReply {
        guard request.method == "POST" else { return GatewayReply(GatewayError.method(allowed: "POST").legacyAnswer) }
        do throws(KeyFault) {
            let key = try admit(request)
            let project = try key.onlyProject()
            try key.permit(.push, on: project)
            return await legacy.answer(request, key: key, project: project)
        } catch {
            return GatewayReply(error.refusal("").legacyAnswer)
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

    private func admit(_ request: WebRequest) throws(KeyFault) -> GatewayKey {
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
        RequestTally.current?.recordKey(key.name)
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
