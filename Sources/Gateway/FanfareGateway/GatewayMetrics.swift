internal import FanfareCore
internal import FanfareHTTP
internal import FanfareMetrics
internal import NIOConcurrencyHelpers
internal import OpenSSLKit

/// Counts requests, answers and pushes, by key.
final class GatewayMetrics: Sendable {
    /// The series of one key.
    private final class KeyCells: Sendable {
        let requests: [String: CounterCell]
        let answers: [String: CounterCell]
        let refusals: [AnswerOutcome.Reason: CounterCell]
        let jobs: CounterCell
        let recipients: CounterCell

        init(_ registry: MetricRegistry, key: String) {
            func cells(_ metric: Metric) -> [String: CounterCell] {
                let values = metric.labels.last?.values ?? []
                return Dictionary(uniqueKeysWithValues: values.map { ($0, registry.counter(metric, key, $0)) })
            }
            requests = cells(MetricCatalogue.gatewayRequests)
            answers = cells(MetricCatalogue.gatewayAnswers)
            refusals = Dictionary(
                uniqueKeysWithValues: AnswerOutcome.Reason.allCases.map {
                    ($0, registry.counter(MetricCatalogue.gatewayRefusals, key, $0.rawValue))
                }
            )
            jobs = registry.counter(MetricCatalogue.gatewayJobs, key)
            recipients = registry.counter(MetricCatalogue.gatewayRecipients, key)
        }
    }

    /// Keys with series of their own.
    static let maximumKeys = 100

    private let registry: MetricRegistry
    private let nowNs: @Sendable () -> UInt64
    private let keys = NIOLockedValueBox<[String: KeyCells]>([:])
    /// Requests of all other keys.
    private let others: KeyCells
    /// Requests without a key of the gateway.
    private let strangers: KeyCells
    private let times: [String: HistogramCell]
    private let waiting = NIOLockedValueBox(0)
    private let redisErrors: CounterCell
    private let redisConnected: GaugeCell

    init(_ registry: MetricRegistry, nowNs: @escaping @Sendable () -> UInt64) {
        (self.registry, self.nowNs) = (registry, nowNs)
        others = KeyCells(registry, key: "_other")
        strangers = KeyCells(registry, key: "_none")
        let apis = MetricCatalogue.gatewayAnswerTime.labels[0].values
        times = Dictionary(
            uniqueKeysWithValues: apis.map { ($0, registry.histogram(MetricCatalogue.gatewayAnswerTime, $0)) }
        )
        redisErrors = registry.counter(MetricCatalogue.redisErrors)
        redisConnected = registry.gauge(MetricCatalogue.redisConnected)
        let gauge = registry.gauge(MetricCatalogue.gatewayWaiting)
        registry.onCollect { [waiting] in gauge.set(waiting.withLockedValue { $0 }) }
    }

    // MARK: Requests

    /// Counts a request that begins.
    ///
    /// - Parameter api: the value of the label `api`.
    func begin(api: String) -> RequestTally {
        waiting.withLockedValue { $0 += 1 }
        return RequestTally(api: api, startNs: nowNs())
    }

    /// Counts the answer of a request.
    func end(_ tally: RequestTally, _ reply: WebReply) {
        waiting.withLockedValue { $0 -= 1 }
        let cells = tally.key.map(cells) ?? strangers
        if tally.hasLeft {
            cells.requests["left"]?.add()
            return
        }
        cells.requests["\(reply.status / 100)xx"]?.add()
        times[tally.api]?.observe(Double(nowNs() - tally.startNs) / 1e9)
        func header(_ name: String) -> String? { reply.headers.first { $0.name == name }?.value }
        let outcome = AnswerOutcome(
            status: reply.status,
            isOfJob: header("X-Fanfare-Job") != nil,
            fanfareStatus: header("X-Fanfare-Status"),
            body: reply.bytes
        )
        switch outcome {
        case .refused(let reason): cells.refusals[reason]?.add()
        case .inTime, .deferred, .pushed, .unknown:
            cells.answers[tally.isRepeated ? "repeated" : outcome.label]?.add()
        case .other: break
        }
    }

    /// - Parameter key: that its requests have.
    func pushed(recipients: Int, key: String) {
        let cells = cells(key)
        cells.jobs.add()
        cells.recipients.add(recipients)
    }

    private func cells(_ key: String) -> KeyCells {
        keys.withLockedValue { keys in
            if let known = keys[key] { return known }
            guard keys.count < Self.maximumKeys else { return others }
            let new = KeyCells(registry, key: key)
            keys[key] = new
            return new
        }
    }

    // MARK: The process

    func redisFailed() { redisErrors.add() }

    func setRedisConnected(_ isConnected: Bool) { redisConnected.set(isConnected) }

    /// Reads the number of open connections at each collection.
    func followConnections(_ count: @escaping @Sendable () -> Int) {
        let gauge = registry.gauge(MetricCatalogue.gatewayConnections)
        registry.onCollect { gauge.set(count()) }
    }

    /// - Parameter pem: the certificate in use.
    func setCertificate(pem: String) {
        guard let facts = try? CertificateFacts(pem: pem) else { return }
        registry.gauge(MetricCatalogue.gatewayCertificate).set(Double(facts.notAfter))
    }
}

extension AnswerOutcome {
    /// The value of the label `outcome`.
    fileprivate var label: String {
        switch self {
        case .inTime: "in_time"
        case .deferred: "deferred"
        case .pushed: "pushed"
        case .unknown: "unknown"
        case .refused, .other: ""
        }
    }
}
