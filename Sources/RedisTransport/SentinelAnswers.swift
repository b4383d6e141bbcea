internal import StreamWire

/// What several Sentinels say of one primary, and whom to believe: the one whose configuration is the latest, since one
/// that was cut off still names the primary that has been replaced.
struct SentinelAnswers {
    struct Answer: Equatable {
        let address: RedisEndpoint.Address
        let epoch: Int64
    }

    private let asked: Int
    private let primary: String
    private var heard = 0
    private(set) var best: Answer?
    /// Why there is none, by the Sentinel that was heard last.
    private(set) var failure: RedisError?

    /// - Parameters:
    ///   - asked: how many Sentinels.
    ///   - primary: what they were asked for.
    init(asked: Int, primary: String) {
        self.asked = asked
        self.primary = primary
    }

    var isComplete: Bool { heard >= asked }

    mutating func hear(_ result: Result<RedisValue, RedisError>, from sentinel: RedisEndpoint) {
        heard += 1
        switch result {
        case .failure(let error):
            var text = "Sentinel at \(sentinel.authority): \(error)"
            if error.code == .server, error.message.contains("No such") {
                text += "; it was asked for \(primary); the URL may name another: redis-sentinel://host?master=name"
            }
            failure = RedisError(error.code, text)
        case .success(let value):
            guard let answer = Self.parse(value) else {
                failure = RedisError(.protocolError, "Sentinel at \(sentinel.authority): names no primary")
                return
            }
            if best.map({ answer.epoch > $0.epoch }) ?? true { best = answer }
        }
    }

    /// Reads the reply to `SENTINEL MASTER`: names and values in turn.
    static func parse(_ value: RedisValue) -> Answer? {
        guard let flat = value.array else { return nil }
        var fields: [String: String] = [:]
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            if let name = flat[index].string { fields[name] = flat[index + 1].string }
        }
        guard let host = fields["ip"], !host.isEmpty, let port = fields["port"].flatMap({ UInt16($0) }), port > 0 else {
            return nil
        }
        return Answer(
            address: .tcp(host: host, port: port),
            epoch: fields["config-epoch"].flatMap { Int64($0) } ?? 0
        )
    }
}
