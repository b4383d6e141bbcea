internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareModel
internal import HTTPLanes

/// Sends the requests of a token exchange, one at a time.
protocol TokenRequests: AnyObject {
    /// Receives the outcome of each request.
    var onCompletion: (RequestOutcome) -> Void { get set }
    func send(_ call: TokenCall, timeoutMs: Int64)
    func close()
}

/// Connections to token endpoints, which the credentials of a process share, and a bound of the exchanges on them: at a start
/// a thousand projects need their tokens, most often from one endpoint. Loop-confined.
final class TokenConnections {
    static let maximum = 32
    /// An exchange that takes longer keeps no other one back.
    private static let patienceMs: Int64 = 1_000
    private static let maximumOrigins = 64

    /// By number, until when an exchange in flight counts.
    private var inFlight: [Int: Int64] = [:]
    private var lastNumber = 0
    private var waiting: [() -> Void] = []
    private var pools: OriginPools?
    /// Of the requests in flight.
    private var completions: [UInt64: (RequestOutcome) -> Void] = [:]
    private var lastTag: UInt64 = 0

    // MARK: Exchanges

    /// - Parameter room: called once when an exchange may begin, unless one begins now; nil not to be called.
    /// - Returns: the number of an exchange that begins now; nil if too many are in flight.
    func begin(nowMs: Int64, room: (() -> Void)?) -> Int? {
        if inFlight.count >= Self.maximum { inFlight = inFlight.filter { $0.value > nowMs } }
        guard inFlight.count < Self.maximum else {
            if let room { waiting.append(room) }
            return nil
        }
        lastNumber += 1
        inFlight[lastNumber] = nowMs + Self.patienceMs
        return lastNumber
    }

    /// A token lasts an hour, so that after the last exchange no connection stays.
    func end(_ number: Int) {
        inFlight[number] = nil
        while inFlight.count < Self.maximum, !waiting.isEmpty { waiting.removeFirst()() }
        if inFlight.isEmpty { pools?.closeIdle() }
    }

    // MARK: Requests

    /// - Returns: the request's number; see ``forget(_:)``.
    func send(
        _ request: HTTPRequest,
        over origin: OriginConfiguration,
        loop: EventLoop,
        group: PoolGroup,
        _ completion: @escaping (RequestOutcome) -> Void
    ) -> UInt64 {
        lastTag += 1
        var request = request
        request.tag = lastTag
        completions[lastTag] = completion
        let pools = pools ?? makePools(loop, group)
        self.pools = pools
        pools.send(request, over: origin)
        return lastTag
    }

    /// The outcome of a request is of no use any more.
    func forget(_ tag: UInt64) {
        completions[tag] = nil
        guard completions.isEmpty else { return }
        pools?.close()
        pools = nil
    }

    private func makePools(_ loop: EventLoop, _ group: PoolGroup) -> OriginPools {
        let pools = OriginPools(loop: loop, maximum: Self.maximumOrigins) {
            LanePool(overCurl: $0, loop: loop, group: group)
        }
        pools.onCompletion = { [weak self] tag, outcome in self?.completions.removeValue(forKey: tag)?(outcome) }
        return pools
    }
}

/// The requests of one credential. Loop-confined.
final class TokenEndpoints: TokenRequests {
    private let loop: EventLoop
    private let origin: OriginConfiguration
    private let group: PoolGroup
    private let connections: TokenConnections
    private var tag: UInt64?

    var onCompletion: (RequestOutcome) -> Void = { _ in }

    init(
        loop: EventLoop,
        origin: OriginConfiguration,
        pools group: PoolGroup,
        connections: TokenConnections = TokenConnections()
    ) {
        (self.loop, self.origin, self.group, self.connections) = (loop, origin, group, connections)
    }

    func send(_ call: TokenCall, timeoutMs: Int64) {
        var request = HTTPRequest(
            tag: 0,
            method: call.method,
            url: call.url,
            headers: call.headers,
            body: call.body,
            timeoutMs: timeoutMs
        )
        // The clock is corrected by the date, and a token's end is counted from it.
        request.asksForDate = true
        request.asksForMetadataFlavor = call.endpoint == .metadata
        let isPlain = call.allowsPlainHTTP && call.url.lowercased().hasPrefix("http://")
        let configuration = origin.forTokens(isPlain: isPlain)
        tag = connections.send(request, over: configuration, loop: loop, group: group) { [weak self] outcome in
            self?.tag = nil
            self?.onCompletion(outcome)
        }
    }

    func close() {
        guard let tag else { return }
        self.tag = nil
        connections.forget(tag)
        onCompletion(.unsent(reason: "the credential was closed"))
    }
}

extension OriginConfiguration {
    /// The configuration of requests for tokens.
    ///
    /// - Parameter isPlain: whether the URL is plain HTTP, which no proxy carries.
    func forTokens(isPlain: Bool) -> OriginConfiguration {
        var configuration = self
        // Over HTTP/2 one connection carries every exchange; over HTTP/1.1 each needs its own.
        configuration.maximumLanes = TokenConnections.maximum
        // A token is 16 KiB at most. An answer with a subject token is no larger than a credential.
        configuration.maximumBodyBytes = Credential.maximumBytes
        if isPlain { (configuration.allowsPlainHTTP, configuration.proxy) = (true, nil) }
        return configuration
    }
}
