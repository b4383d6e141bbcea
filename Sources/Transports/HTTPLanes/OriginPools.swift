public import EventLoop
public import FanfareModel

/// Sends requests to several origins: a ``LanePool`` for each, and at most so many of them. Loop-confined.
///
/// A further origin takes the place of the one that has been idle longest. Every request gets one outcome, as with a pool;
/// it is `.unsent` if its origin has no pool and none is idle.
public final class OriginPools {
    private struct Member {
        var origin: String
        var pool: LanePool
    }

    private let loop: EventLoop
    private let maximum: Int
    private let makePool: (OriginConfiguration) -> LanePool
    /// In the order of their last request or outcome.
    private var members: [Member] = []
    private var refused: [UInt64] = []
    private var isClosed = false

    /// Receives a request's tag and its outcome; never called from within ``send(_:over:)``.
    public var onCompletion: (UInt64, RequestOutcome) -> Void = { _, _ in }

    /// - Parameters:
    ///   - maximum: number of pools, at least 1.
    ///   - makePool: makes a pool with this configuration.
    public init(loop: EventLoop, maximum: Int, makePool: @escaping (OriginConfiguration) -> LanePool) {
        (self.loop, self.maximum, self.makePool) = (loop, max(1, maximum), makePool)
    }

    /// Sends a request on the pool of its URL's origin with this configuration. Does nothing after ``close()``.
    public func send(_ request: HTTPRequest, over configuration: OriginConfiguration) {
        guard !isClosed else { return }
        if let pool = pool(for: request, configuration) { return pool.send(request) }
        refused.append(request.tag)
        if refused.count == 1 { loop.schedule(afterNanoseconds: 0) { [weak self] in self?.completeRefused() } }
    }

    /// Closes the connections of origins without a request in flight; the next request opens one again.
    public func closeIdle() {
        let idle = members.filter(\.pool.isIdle)
        members.removeAll(where: \.pool.isIdle)
        for member in idle { member.pool.close() }
    }

    /// Closes all connections. Each request in flight gets its outcome from within this call. The last call.
    public func close() {
        isClosed = true
        for member in members { member.pool.close() }
        members = []
        completeRefused()
    }

    private func pool(for request: HTTPRequest, _ configuration: OriginConfiguration) -> LanePool? {
        // A URL without an origin gets a pool too, which refuses the request with the reason.
        let origin = RequestRule.origin(of: request.url, allowsPlainHTTP: configuration.allowsPlainHTTP) ?? ""
        if let known = members.firstIndex(where: { $0.origin == origin && $0.pool.configuration == configuration }) {
            return use(known)
        }
        if members.count >= maximum {
            guard let idle = members.firstIndex(where: \.pool.isIdle) else { return nil }
            members.remove(at: idle).pool.close()
        }
        let pool = makePool(configuration)
        pool.onCompletion = { [weak self, weak pool] tag, outcome in
            guard let self else { return }
            if let index = members.firstIndex(where: { $0.pool === pool }) { use(index) }
            onCompletion(tag, outcome)
        }
        members.append(Member(origin: origin, pool: pool))
        return pool
    }

    @discardableResult
    private func use(_ index: Int) -> LanePool {
        let member = members.remove(at: index)
        members.append(member)
        return member.pool
    }

    private func completeRefused() {
        let tags = refused
        refused = []
        for tag in tags { onCompletion(tag, .unsent(reason: "\(maximum) origins have requests in flight")) }
    }
}
