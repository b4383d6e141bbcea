public import FanfareModel

/// Decides whether the services that a project needs can be reached, from the outcomes of requests to them.
///
/// A service is unreachable when at least two requests failed, over at least ``patienceNs``, and none was answered in
/// between. An answer is a status of whatever kind. A request without an answer may be slow: if no failure shows that a
/// request could not be sent, the service must not have answered for ``answeringNs``. Times are nanoseconds of a clock that
/// only grows, except `sinceMs`.
public struct Reachability: Sendable {
    public enum Service: Int, CaseIterable, Sendable {
        case tokenEndpoint
        /// The service that takes the messages.
        case messages
        /// Instance ID, the server of subscriptions.
        case management
    }

    /// A service that cannot be reached.
    public struct Condition: Equatable, Sendable {
        public var service: Service
        public var name: String
        /// The first failure, Unix milliseconds.
        public var sinceMs: Int64
        /// Why the latest requests failed.
        public var cause: String
        /// What failed then.
        public var kind: Reason.Kind
    }

    /// Failures since the latest answer.
    private struct Failures {
        var answeredAt: UInt64?
        /// Whether a request could not be sent.
        var hasUnsent = false
        var count = 0
        var firstAt: UInt64 = 0
        var lastAt: UInt64 = 0
        var sinceMs: Int64 = 0
        var reason: Reason?
    }

    /// How long a service fails before it counts as unreachable.
    public static let patienceNs: UInt64 = 5_000_000_000
    /// After this time without a further attempt nothing is known of a service.
    public static let memoryNs: UInt64 = 150_000_000_000
    /// A service counts as answering for this long after an answer.
    public static let answeringNs: UInt64 = 15_000_000_000

    private let messages: String
    private var failures = [Failures](repeating: Failures(), count: Service.allCases.count)

    /// - Parameter messages: the name of the service that takes the messages.
    public init(messages: String = TransportTraits.v1.service) { self.messages = messages }

    public func name(of service: Service) -> String {
        switch service {
        case .tokenEndpoint: "the token endpoint"
        case .messages: messages
        case .management: "Instance ID"
        }
    }

    /// Learns from the outcome of a request.
    ///
    /// - Parameter nowMs: the time of day, Unix milliseconds.
    public mutating func observe(
        _ outcome: RequestOutcome,
        of service: Service,
        nowMs: @autoclosure () -> Int64,
        now: UInt64
    ) {
        switch outcome {
        case .answered, .stanza:
            if failures[service.rawValue].count > 0 { failures[service.rawValue] = Failures() }
            failures[service.rawValue].answeredAt = now
        case .unsent(let reason), .ambiguous(let reason):
            var known = failures[service.rawValue]
            if known.count == 0 { (known.firstAt, known.sinceMs) = (now, nowMs()) }
            known.count = known.count.adding(1)
            known.lastAt = now
            if case .unsent = outcome { known.hasUnsent = true }
            if reason.cause != nil { known.reason = reason }
            failures[service.rawValue] = known
        // The server said that it did not process the request, so this is neither an answer nor an outage.
        case .refused: break
        }
    }

    /// The condition of a service; nil if the service answers, or nothing is known of it.
    public func condition(of service: Service, now: UInt64) -> Condition? {
        let known = failures[service.rawValue]
        guard known.count > 1, now.subtracting(known.firstAt) >= Self.patienceNs,
            now.subtracting(known.lastAt) <= Self.memoryNs, known.hasUnsent || !isAnswering(service, now: now)
        else { return nil }
        return Condition(
            service: service,
            name: name(of: service),
            sinceMs: known.sinceMs,
            cause: known.reason?.cause ?? "no answer",
            kind: known.reason?.kind ?? .other
        )
    }

    /// Whether no request to the service failed since its latest answer.
    public func isWithoutFailure(_ service: Service) -> Bool { failures[service.rawValue].count == 0 }

    /// Whether the service of messages answered lately, and is not away since. A failure beside answers proves nothing.
    public func isAnswering(now: UInt64) -> Bool {
        isAnswering(.messages, now: now) && condition(of: .messages, now: now) == nil
    }

    private func isAnswering(_ service: Service, now: UInt64) -> Bool {
        failures[service.rawValue].answeredAt.map { now.subtracting($0) <= Self.answeringNs } ?? false
    }
}

extension Reachability.Condition: CustomStringConvertible {
    /// `FCM cannot be reached since 2026-11-21T09:05:07.123Z: Failed to connect (libcurl 7)`
    public var description: String {
        "\(name) cannot be reached since \(CalendarTime(unixMs: sinceMs).rfc3339): \(cause)"
    }
}
