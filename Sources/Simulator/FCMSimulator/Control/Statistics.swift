import FanfareJSON

/// The counts of `GET /stats` that no other part keeps. They are exact however many sends there are.
struct Statistics: Equatable, Sendable {
    private(set) var requests = 0
    /// Recipients of all send requests that passed credentials and quota.
    private(set) var sends = 0
    /// Requests with `registration_ids`.
    private(set) var multicasts = 0
    private(set) var accepted = 0
    /// By error code.
    private(set) var rejected: [String: Int] = [:]
    /// Accepted sends to a token after its first.
    private(set) var duplicates = 0
    private(set) var connections = 0
    private(set) var openConnections = 0
    private(set) var maxConcurrentStreams = 0
    /// Hashes of the tokens with an accepted send.
    private var seen: Set<UInt64> = []

    mutating func countRequest() { requests += 1 }

    mutating func countSends(_ recipients: Int) { sends += recipients }

    mutating func countMulticast() { multicasts += 1 }

    /// An accepted send to no particular device.
    mutating func countAccepted() { accepted += 1 }

    mutating func countAccepted(token: String) {
        accepted += 1
        if !seen.insert(TokenHash.of(token)).inserted { duplicates += 1 }
    }

    mutating func countRejected(_ error: String, times: Int = 1) {
        rejected[error, default: 0] += times
    }

    mutating func connectionOpened() {
        connections += 1
        openConnections += 1
    }

    mutating func connectionClosed() { openConnections -= 1 }

    /// - Parameter count: streams that are open on one connection.
    mutating func streamsOpened(_ count: Int) { maxConcurrentStreams = max(maxConcurrentStreams, count) }

    /// Forgets all counts but the open connections.
    mutating func reset() {
        let open = openConnections
        self = Statistics()
        openConnections = open
    }

    func json(messages: MessageStore, fanouts: Fanouts, quotas: SendQuotas) -> JSONObject {
        func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
        let errors = rejected.sorted { $0.key < $1.key }.map { JSONObject.Member(key: $0.key, value: number($0.value)) }
        let losses = DropReason.allCases.compactMap { reason in
            messages.counts.dropped[reason].map { JSONObject.Member(key: reason.rawValue, value: number($0)) }
        }
        return [
            "requests": number(requests), "sends": number(sends), "multicasts": number(multicasts),
            "accepted": number(accepted), "rejected": .object(JSONObject(errors)), "duplicates": number(duplicates),
            "connections": number(connections), "open_connections": number(openConnections),
            "max_concurrent_streams": number(maxConcurrentStreams), "max_active_fanouts": number(fanouts.mostActive),
            "quota_rejections": number(quotas.rejectedCount), "delivered": number(messages.counts.delivered),
            "stored": number(messages.storedCount), "dropped": .object(JSONObject(losses)),
        ]
    }
}
