import FanfareJSON

/// The XMPP counts of `GET /stats`.
struct XMPPStatistics: Equatable, Sendable {
    /// Connections that were authenticated.
    var accepted = 0
    /// Connections refused because a limit was reached.
    var refused = 0
    var acks = 0
    var nacks = 0
    var badAcks = 0
    /// Messages written to the app server; a message without an ack is written again.
    var upstreamSent = 0
    var upstreamAcked = 0

    /// - Parameters:
    ///   - open: bound connections.
    ///   - draining: those of them that drain.
    ///   - unacked: upstream messages that were written and have no ack.
    func json(open: Int, draining: Int, unacked: Int, upstream: UpstreamQueue) -> JSONValue {
        func number(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
        return .object([
            "open": number(open), "draining": number(draining), "accepted": number(accepted),
            "refused": number(refused), "acks": number(acks), "nacks": number(nacks), "bad_acks": number(badAcks),
            "receipts": number(upstream.receiptCount), "upstream_sent": number(upstreamSent),
            "upstream_acked": number(upstreamAcked), "upstream_expired": number(upstream.expiredCount),
            "upstream_unacked": number(unacked), "upstream_waiting": number(upstream.count),
        ])
    }
}
