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

/// Connections to the endpoints of one credential, at most three. Loop-confined.
final class TokenEndpoints: TokenRequests {
    private let origin: OriginConfiguration
    private let pools: OriginPools
    private var nextTag: UInt64 = 0

    var onCompletion: (RequestOutcome) -> Void = { _ in }

    init(loop: EventLoop, origin: OriginConfiguration, pools group: PoolGroup) {
        self.origin = origin
        pools = OriginPools(loop: loop, maximum: 3) { LanePool(overCurl: $0, loop: loop, group: group) }
        pools.onCompletion = { [weak self] _, outcome in self?.onCompletion(outcome) }
    }

    func send(_ call: TokenCall, timeoutMs: Int64) {
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
        let isPlain = call.allowsPlainHTTP && call.url.lowercased().hasPrefix("http://")
        pools.send(request, over: origin.forTokens(isPlain: isPlain))
    }

    func close() { pools.close() }
}

extension OriginConfiguration {
    /// The configuration of requests for tokens.
    ///
    /// - Parameter isPlain: whether the URL is plain HTTP, which no proxy carries.
    func forTokens(isPlain: Bool) -> OriginConfiguration {
        var configuration = self
        configuration.maximumLanes = 2
        // A token is 16 KiB at most. An answer with a subject token is no larger than a credential.
        configuration.maximumBodyBytes = Credential.maximumBytes
        if isPlain { (configuration.allowsPlainHTTP, configuration.proxy) = (true, nil) }
        return configuration
    }
}
