internal import EventLoop

/// Finds the primary by asking all Sentinels at once.
///
/// It continues to ask them while the connection holds: a primary that was cut off from them still answers its clients
/// after another server has replaced it.
final class SentinelLocator: ServerLocator {
    private let loop: EventLoop
    private let deployment: RedisDeployment
    private let primary: String
    private let tls: TLSOptions
    private let patienceMs: Int64
    private var poll: ServerPoll<SentinelAnswer>?
    private var patience: TimerID?
    /// The primary of the present or the next connection.
    private var current: SentinelAnswer?
    private var watch: PrimaryWatch
    /// Connections to the Sentinels; nil before the first connection to a primary, then kept until ``close()``.
    private var panel: SentinelPanel?
    /// Called when the primary was replaced.
    private var leave: ((RedisEndpoint) -> Void)?

    /// How long to wait for further Sentinels after the first answer, in milliseconds, unless a majority agrees before.
    private static let graceMs: Int64 = 500

    init(
        loop: EventLoop,
        deployment: RedisDeployment,
        primary: String,
        tls: TLSOptions,
        patienceMs: Int64
    ) {
        self.loop = loop
        self.deployment = deployment
        self.primary = primary
        self.tls = tls
        self.patienceMs = patienceMs
        watch = PrimaryWatch(sentinels: deployment.nodes.count)
    }

    var reconsiderMs: Int64? { 500 }
    var mustBePrimary: Bool { true }

    func locate(_ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void) {
        leave = nil
        askAll { [weak self] answers in
            guard let self else { return }
            guard let best = answers.best else {
                return answer(.failure(answers.failure ?? RedisError(.connectionLost, "no Sentinel answers")))
            }
            // Accept any epoch, also a lower one: Sentinels that were set up again count from the beginning.
            current = best
            answer(.success(deployment.server.at(best.address)))
        }
    }

    func reconsider(_ answer: @escaping (RedisEndpoint) -> Void) {
        leave = answer
        let panel = panel ?? makePanel()
        self.panel = panel
        panel.askAll()
    }

    private func makePanel() -> SentinelPanel {
        SentinelPanel(loop: loop, sentinels: deployment.nodes, primary: primary, tls: tls) {
            [weak self] index, answer in
            guard let self else { return }
            if let answer {
                watch.record(answer, from: index, nowMs: loop.nowMs)
            } else {
                watch.removeAnswer(from: index)
            }
            guard let leave, let current, case .replaced(let address) = watch.status(of: current, nowMs: loop.nowMs)
            else {
                return
            }
            self.leave = nil
            leave(deployment.server.at(address))
        }
    }

    var sentinelState: SentinelState? {
        guard panel != nil, let current else { return nil }
        return SentinelState(
            answering: watch.answering(nowMs: loop.nowMs),
            configured: deployment.nodes.count,
            isConfirmed: watch.status(of: current, nowMs: loop.nowMs) == .confirmed
        )
    }

    func close() {
        closePoll()
        leave = nil
        panel?.close()
        panel = nil
    }

    private func closePoll() {
        poll?.close()
        poll = nil
        if let patience { loop.cancel(patience) }
        patience = nil
    }

    private func askAll(_ completion: @escaping (SentinelAnswers) -> Void) {
        closePoll()
        var answers = SentinelAnswers(asked: deployment.nodes.count, primary: primary)
        var isDecided = false
        let decide = { [weak self] in
            isDecided = true
            self?.closePoll()
            completion(answers)
        }
        let primary = primary
        let poll = ServerPoll<SentinelAnswer>(
            loop: loop,
            servers: deployment.nodes,
            tls: tls,
            patienceMs: patienceMs,
            request: { SentinelAnswer.request(over: $0, primary: primary, $1) }
        ) { [weak self] sentinel, result in
            guard let self, !isDecided else { return }
            answers.record(result, from: sentinel)
            if answers.isComplete { return decide() }
            guard answers.best != nil, patience == nil else { return }
            patience = loop.schedule(afterMilliseconds: Self.graceMs, decide)
        }
        self.poll = isDecided ? nil : poll
    }
}
