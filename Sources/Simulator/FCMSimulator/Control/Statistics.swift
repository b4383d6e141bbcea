import FanfareJSON

/// The counts of `GET /stats` that no other part counts, exact for any number of sends.
struct Statistics: Equatable, Sendable {
    var requests = 0
    /// Recipients of all send requests that passed credentials and quota.
    var sends = 0
    /// Requests with `registration_ids`.
    var multicasts = 0
    var accepted = 0
    /// By error code.
    var rejected: [String: Int] = [:]
    /// Accepted sends to a token after its first.
    var duplicates = 0
    var connections = 0
    var openConnections = 0
    var maxConcurrentStreams = 0
    /// Hashes of the tokens with an accepted send.
    private var seen: Set<UInt64> = []

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

    /// Forgets all counts but the open connections.
    mutating func reset() {
        let open = openConnections
        self = Statistics()
        openConnections = open
    }

    func json(messages: MessageStore, fanouts: Fanouts, quotas: SendQuotas) -> JSONObject {
        let errors = rejected.sorted { $0.key < $1.key }
            .map { JSONObject.Member(key: $0.key, value: .integer($0.value)) }
        let losses = DropReason.allCases.compactMap { reason in
            messages.counts.dropped[reason].map { JSONObject.Member(key: reason.rawValue, value: .integer($0)) }
        }
        return [
            "requests": .integer(requests), "sends": .integer(sends), "multicasts": .integer(multicasts),
            "accepted": .integer(accepted), "rejected": .object(JSONObject(errors)), "duplicates": .integer(duplicates),
            "connections": .integer(connections), "open_connections": .integer(openConnections),
            "max_concurrent_streams": .integer(maxConcurrentStreams),
            "max_active_fanouts": .integer(fanouts.maximumActive),
            "quota_rejections": .integer(quotas.rejectedCount), "delivered": .integer(messages.counts.delivered),
            "stored": .integer(messages.queues.messageCount), "dropped": .object(JSONObject(losses)),
        ]
    }
}
