/// A request in flight.
public struct InFlightRequest: Sendable {
    /// The batch's slot in the machine.
    public let slot: Int
    /// Positions of the recipients that share the request.
    public let positions: Positions
    /// Set for a member of a device group that is sent to on its own.
    public let member: String?
    /// Which access token or key it was sent with.
    let credential: Int
    /// The credential's fingerprint.
    let fingerprint: UInt64
    /// Whether it is the probe of a blocked project.
    let isProbe: Bool
    let started: Instant
}

/// Requests in flight by their tags, which are used again.
struct InFlightTable: Sendable {
    private var requests: [InFlightRequest?] = []
    private var free: [Int] = []
    private(set) var count = 0

    /// - Returns: the tag by which the request is found again.
    mutating func insert(_ request: InFlightRequest) -> Int {
        count += 1
        guard let tag = free.popLast() else {
            requests.append(request)
            return requests.count - 1
        }
        requests[tag] = request
        return tag
    }

    /// Nil for a tag that is not in flight.
    subscript(tag: Int) -> InFlightRequest? { requests.indices.contains(tag) ? requests[tag] : nil }

    /// - Returns: nil for a tag that is not in flight.
    mutating func remove(_ tag: Int) -> InFlightRequest? {
        guard let request = self[tag] else { return nil }
        requests[tag] = nil
        free.append(tag)
        count -= 1
        return request
    }
}
