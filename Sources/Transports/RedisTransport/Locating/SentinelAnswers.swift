internal import StreamWire

/// The primary that one Sentinel names.
struct SentinelAnswer: Equatable {
    let address: RedisEndpoint.Address
    /// Epoch of the configuration that the Sentinel knows: grows with each failover.
    let epoch: Int64

    /// The primary that several answers name together: the one that a majority of all Sentinels names, else the one with
    /// the latest configuration, since a Sentinel that was cut off still names the primary that has been replaced.
    ///
    /// - Parameter count: all Sentinels, also the ones that did not answer.
    static func choice(of answers: [SentinelAnswer], sentinels count: Int) -> (
        answer: SentinelAnswer, isMajority: Bool
    )? {
        var latest: SentinelAnswer?
        for answer in answers {
            if 2 * answers.count(where: { $0.address == answer.address }) > count {
                let epoch = answers.filter { $0.address == answer.address }.map(\.epoch).max() ?? answer.epoch
                return (SentinelAnswer(address: answer.address, epoch: epoch), true)
            }
            if latest.map({ answer.epoch > $0.epoch }) ?? true { latest = answer }
        }
        return latest.map { ($0, false) }
    }
}

extension SentinelAnswer {
    /// Asks one Sentinel for the primary's address (`SENTINEL GET-MASTER-ADDR-BY-NAME`) and for its epoch (`SENTINEL
    /// MASTER`). The second alone is not enough: near the end of a failover it gives the old address with the new
    /// epoch. If the Sentinel's ACL forbids the first command, the address of the second counts.
    static func request(
        over connection: RedisConnection,
        primary: String,
        _ completion: @escaping (Result<SentinelAnswer, RedisError>) -> Void
    ) {
        var facts: Result<RedisValue, RedisError> = .failure(RedisError(.notConnected, "not asked"))
        connection.send(RedisCommand("SENTINEL", "MASTER", primary)) { facts = $0 }
        connection.send(RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", primary)) { address in
            completion(combined(facts: facts, address: address))
        }
    }

    private static func combined(
        facts: Result<RedisValue, RedisError>,
        address: Result<RedisValue, RedisError>
    ) -> Result<SentinelAnswer, RedisError> {
        facts.flatMap { value in
            guard let known = SentinelAnswer(facts: value) else {
                return .failure(RedisError(.protocolError, "names no primary"))
            }
            switch address {
            case .failure(let error) where error.code == .noPerm: return .success(known)
            case .failure(let error): return .failure(error)
            case .success(let value):
                guard let named = SentinelAnswer(address: value, epoch: known.epoch) else { return .success(known) }
                return .success(named)
            }
        }
    }

    /// Reads the reply to `SENTINEL MASTER`; nil when it names no primary.
    init?(facts value: RedisValue) {
        guard let facts = NamedValues(value),
            let address = Self.address(host: facts.text("ip"), port: facts.text("port"))
        else { return nil }
        self.init(address: address, epoch: facts.text("config-epoch").flatMap { Int64($0) } ?? 0)
    }

    /// Reads the reply to `SENTINEL GET-MASTER-ADDR-BY-NAME`: host and port; nil when it names no primary.
    init?(address value: RedisValue, epoch: Int64) {
        guard let words = value.array, words.count == 2,
            let address = Self.address(host: words[0].string, port: words[1].string)
        else { return nil }
        self.init(address: address, epoch: epoch)
    }

    private static func address(host: String?, port: String?) -> RedisEndpoint.Address? {
        guard let host, !host.isEmpty, let port = port.flatMap({ UInt16($0) }), port > 0 else { return nil }
        return .tcp(host: host, port: port)
    }
}

/// The answers of all Sentinels to one round of questions.
struct SentinelAnswers {
    private let asked: Int
    private let primary: String
    private var answered = 0
    private var answers: [SentinelAnswer] = []
    /// Failure of the Sentinel that answered last without naming a primary; nil when there was none.
    private(set) var failure: RedisError?

    /// - Parameter asked: number of Sentinels.
    init(asked: Int, primary: String) {
        self.asked = asked
        self.primary = primary
    }

    /// The primary to connect to; nil while no Sentinel has named one.
    var best: SentinelAnswer? { SentinelAnswer.choice(of: answers, sentinels: asked)?.answer }
    /// Whether no further answer can change ``best``.
    var isComplete: Bool {
        answered >= asked || SentinelAnswer.choice(of: answers, sentinels: asked)?.isMajority == true
    }

    mutating func record(_ result: Result<SentinelAnswer, RedisError>, from sentinel: RedisEndpoint) {
        answered += 1
        switch result {
        case .success(let answer): answers.append(answer)
        case .failure(let error):
            var text = "Sentinel at \(sentinel.authority): \(error)"
            if error.code == .server, error.message.contains("No such") {
                text += "; it was asked for \(primary); the URL may name another: redis-sentinel://host?master=name"
            }
            failure = RedisError(error.code, text)
        }
    }
}
