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

/// Connections to the endpoints of one credential: a pool for each origin, at most three. Loop-confined.
final class TokenEndpoints: TokenRequests {
    private let loop: EventLoop
    private let origin: OriginConfiguration
    private let group: PoolGroup
    private var pools: [String: LanePool] = [:]
    private var nextTag: UInt64 = 0
    private var isClosed = false

    var onCompletion: (RequestOutcome) -> Void = { _ in }

    init(loop: EventLoop, origin: OriginConfiguration, pools group: PoolGroup) {
        self.loop = loop
        self.group = group
        self.origin = origin
    }

    func send(_ call: TokenCall, timeoutMs: Int64) {
        guard !isClosed else { return }
        nextTag += 1
        var request = HTTPRequest(
            tag: nextTag,
            method: call.method,
            url: call.url,
            headers: call.headers,
            body: call.body,
            timeoutMs: timeoutMs
        )
        // The clock is corrected by the date, and a token's end is counted from it.
        request.asksForDate = true
        request.asksForMetadataFlavor = call.endpoint == .metadata
        pool(of: call).send(request)
    }

    private func pool(of call: TokenCall) -> LanePool {
        let isPlain = call.allowsPlainHTTP && call.url.lowercased().hasPrefix("http://")
        let name = String(
            call.url.split(separator: "/", maxSplits: 2).prefix(2).joined(separator: "//").prefix { $0 != "?" }
        )
        if let pool = pools[name] { return pool }
        let pool = LanePool(overCurl: origin.forTokens(isPlain: isPlain), loop: loop, group: group)
        pool.onCompletion = { [weak self] _, outcome in self?.onCompletion(outcome) }
        pools[name] = pool
        return pool
    }

    func close() {
        isClosed = true
        for pool in pools.values { pool.close() }
        pools = [:]
    }
}

extension OriginConfiguration {
    /// The configuration of requests for tokens.
    ///
    /// - Parameter isPlain: whether the URL is plain HTTP, which no proxy carries.
    func forTokens(isPlain: Bool) -> OriginConfiguration {
        var configuration = self
        configuration.maxLanes = 2
        // A token is 16 KiB at most. An answer with a subject token is no larger than a credential.
        configuration.maxBodyBytes = Credential.maximumBytes
        if isPlain { (configuration.allowsPlainHTTP, configuration.proxy) = (true, nil) }
        return configuration
    }
}
