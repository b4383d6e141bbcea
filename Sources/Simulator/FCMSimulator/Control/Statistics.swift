import FanfareJSON

/// What `GET /stats` tells. Counts are exact however many sends there are.
struct Statistics: Equatable, Sendable {
    var requests = 0
    /// Recipients in all send requests that were looked at.
    var sends = 0
    /// Requests with `registration_ids`.
    var multicasts = 0
    var accepted = 0
    var rejected: [String: Int] = [:]
    /// Accepted sends beyond a token's first.
    var duplicates = 0
    var connections = 0
    var openConnections = 0
    var maxConcurrentStreams = 0
    var maxActiveFanouts = 0
    var quotaRejections = 0
    /// What devices got, events included.
    var delivered = 0
    private var dropped: [DropReason: Int] = [:]
    private var seen: Set<UInt64> = []

    mutating func countAccepted(token: String) {
        accepted += 1
        if !seen.insert(TokenHash.of(token)).inserted { duplicates += 1 }
    }

    mutating func countRejected(_ error: String, times: Int = 1) {
        rejected[error, default: 0] += times
    }

    /// - Parameter times: of messages that had been accepted.
    mutating func countDropped(_ reason: DropReason, times: Int = 1) {
        if times > 0 { dropped[reason, default: 0] += times }
    }

    /// Starts over; connections that are open stay open.
    mutating func reset() {
        let open = openConnections
        self = Statistics()
        openConnections = open
    }

    /// - Parameter stored: messages that wait for their device.
    func json(stored: Int) -> JSONObject {
        func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
        let errors = rejected.sorted { $0.key < $1.key }.map { JSONObject.Member(key: $0.key, value: number($0.value)) }
        let losses = DropReason.allCases.compactMap { reason in
            dropped[reason].map { JSONObject.Member(key: reason.rawValue, value: number($0)) }
        }
        return [
            "requests": number(requests), "sends": number(sends), "multicasts": number(multicasts),
            "accepted": number(accepted), "rejected": .object(JSONObject(errors)), "duplicates": number(duplicates),
            "connections": number(connections), "open_connections": number(openConnections),
            "max_concurrent_streams": number(maxConcurrentStreams), "max_active_fanouts": number(maxActiveFanouts),
            "quota_rejections": number(quotaRejections), "delivered": number(delivered), "stored": number(stored),
            "dropped": .object(JSONObject(losses)),
        ]
    }
}
