/// Decides whether the primary that a connection uses is still the primary, from the latest answer of each Sentinel.
///
/// A primary that is cut off from its Sentinels and replicas still answers its clients after it was replaced, and
/// writes to it are lost. Times are milliseconds of any clock that only grows.
struct PrimaryWatch {
    enum Status: Equatable {
        /// A majority of the Sentinels names this primary.
        case confirmed
        /// Too few Sentinels answer, or they disagree: the connection stays.
        case unconfirmed
        /// Another server is the primary now: the connection has to end.
        case replaced(by: RedisEndpoint.Address)
    }

    private let sentinels: Int
    private var latest: [Int: (answer: SentinelAnswer, atMs: Int64)] = [:]

    /// The age up to which an answer counts.
    static let freshMs: Int64 = 2_000

    init(sentinels: Int) { self.sentinels = sentinels }

    mutating func record(_ answer: SentinelAnswer, from sentinel: Int, nowMs: Int64) {
        latest[sentinel] = (answer, nowMs)
    }

    /// Forgets the answer of a Sentinel that is away or knows no such primary.
    mutating func removeAnswer(from sentinel: Int) { latest[sentinel] = nil }

    /// - Parameter current: the primary in use, with the epoch under which it was named.
    func status(of current: SentinelAnswer, nowMs: Int64) -> Status {
        guard let choice = SentinelAnswer.choice(of: answers(nowMs), sentinels: sentinels) else { return .unconfirmed }
        guard choice.answer.address != current.address else { return choice.isMajority ? .confirmed : .unconfirmed }
        // Without a majority only a later failover is believed: a Sentinel that was cut off names an earlier primary.
        guard choice.isMajority || choice.answer.epoch > current.epoch else { return .unconfirmed }
        return .replaced(by: choice.answer.address)
    }

    /// How many Sentinels name a primary.
    func answering(nowMs: Int64) -> Int { answers(nowMs).count }

    /// The fresh answers, in the order of the Sentinels, so that the same answers always give the same status.
    private func answers(_ nowMs: Int64) -> [SentinelAnswer] {
        latest.sorted { $0.key < $1.key }.map(\.value).filter { nowMs - $0.atMs <= Self.freshMs }.map(\.answer)
    }
}
