internal import EventLoop
internal import OpenSSLKit
internal import StreamWire

/// Finds the primary by asking all Sentinels at once, and asks again now and then: a primary that was cut off from them
/// may go on answering its clients after another one has taken its place.
final class SentinelLocator: ServerLocator {
    private let loop: EventLoop
    private let sentinels: [RedisEndpoint]
    private let primary: String
    private let server: RedisEndpoint
    private let tls: TLSOptions
    private let patienceMs: Int64
    private let random: () -> Double
    private var poll: ServerPoll?
    private var patience: TimerID?
    /// Of the configuration that is connected to.
    private var epoch: Int64 = -1

    /// How long the other Sentinels have to contradict the first, in milliseconds.
    private static let graceMs: Int64 = 100

    init(
        loop: EventLoop,
        sentinels: [RedisEndpoint],
        primary: String,
        server: RedisEndpoint,
        tls: TLSOptions,
        patienceMs: Int64,
        random: @escaping () -> Double
    ) {
        self.loop = loop
        self.sentinels = sentinels
        self.primary = primary
        self.server = server
        self.tls = tls
        self.patienceMs = patienceMs
        self.random = random
    }

    var reconsiderMs: Int64? { 5_000 }
    var mustBePrimary: Bool { true }
    func refused(_ error: RedisError, by server: RedisEndpoint) -> Bool { false }

    func locate(_ answer: @escaping (Result<RedisEndpoint, RedisError>) -> Void) {
        ask { [weak self] answers in
            guard let self else { return }
            guard let best = answers.best else {
                return answer(.failure(answers.failure ?? RedisError(.connectionLost, "no Sentinel answers")))
            }
            // Whatever it is: Sentinels that were set up anew count from the beginning.
            epoch = best.epoch
            answer(.success(server.at(best.address)))
        }
    }

    func reconsider(_ answer: @escaping (RedisEndpoint) -> Void) {
        ask { [weak self] answers in
            guard let self, let best = answers.best, best.epoch > epoch else { return }
            answer(server.at(best.address))
        }
    }

    func close() {
        poll?.close()
        poll = nil
        if let patience { loop.cancel(patience) }
        patience = nil
    }

    private func ask(_ completion: @escaping (SentinelAnswers) -> Void) {
        close()
        var answers = SentinelAnswers(asked: sentinels.count, primary: primary)
        let decide = { [weak self] in
            self?.close()
            completion(answers)
        }
        let poll = ServerPoll(
            loop: loop,
            servers: sentinels,
            tls: tls,
            patienceMs: patienceMs,
            question: RedisCommand("SENTINEL", "MASTER", primary),
            random: random
        ) { [weak self] sentinel, result in
            guard let self else { return }
            answers.hear(result, from: sentinel)
            if answers.isComplete { return decide() }
            guard answers.best != nil, patience == nil else { return }
            patience = loop.schedule(afterMilliseconds: Self.graceMs, decide)
        }
        self.poll = answers.isComplete ? nil : poll
    }
}
