import StreamWire
import Testing

@testable import RedisTransport

@Suite struct TopologyTests {
    private static let asked = RedisEndpoint.Address.tcp(host: "seed.example", port: 7_000)

    private static func node(_ host: RedisValue, _ port: Int64) -> RedisValue {
        .array([host, .integer(port), .bulk(Array("id".utf8)), .array([])])
    }

    private static func text(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }

    // MARK: Redirections

    @Test(arguments: [
        ("MOVED 866 10.0.0.1:6379", Redirection.Kind.moved, "10.0.0.1", UInt16(6_379)),
        ("ASK 0 fd00::1:7001", .ask, "fd00::1", 7_001),
        ("MOVED 16383 :7002", .moved, "seed.example", 7_002),
    ])
    func redirectionsAreRead(_ line: String, _ kind: Redirection.Kind, _ host: String, _ port: UInt16) throws {
        let redirection = try #require(Redirection(RedisError(reply: line)))
        #expect(redirection.kind == kind)
        #expect(redirection.address(from: Self.asked) == .tcp(host: host, port: port))
    }

    @Test(arguments: [
        "MOVED", "MOVED 1", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:65536",
        "MOVED 1 a:b",
        "ASK  1 a:1", "TRYAGAIN 1 a:1", "ERR MOVED 1 a:1",
    ])
    func whatIsNoRedirectionIsNotFollowed(_ line: String) {
        #expect(Redirection(RedisError(reply: line)) == nil)
    }

    @Test func aNodeWithoutANameCannotBeReached() throws {
        let redirection = try #require(Redirection(RedisError(reply: "MOVED 1 ?:6379")))
        #expect(redirection.address(from: Self.asked) == nil)
    }

    // MARK: Maps

    @Test func mapNamesThePrimaryOfASlot() throws {
        let value = RedisValue.array([
            .array([.integer(0), .integer(99), Self.node(Self.text("a"), 1), Self.node(Self.text("b"), 2)]),
            .array([.integer(100), .integer(100), Self.node(.null, 3)]),
            .array([.integer(101), .integer(16_383), Self.node(Self.text(""), 4), Self.node(Self.text("?"), 5)]),
        ])
        let map = try #require(ClusterMap(value, from: Self.asked))
        func primary(_ number: Int) throws -> RedisEndpoint.Address? { map.primary(of: try #require(HashSlot(number))) }
        #expect(try primary(0) == .tcp(host: "a", port: 1))
        #expect(try primary(99) == .tcp(host: "a", port: 1))
        #expect(try primary(100) == .tcp(host: "seed.example", port: 3))
        #expect(try primary(16_383) == .tcp(host: "seed.example", port: 4))
        #expect(map.primaries.count == 3)
        #expect(map.everyone.count == 4)
    }

    @Test(arguments: [
        RedisValue.array([.integer(1)]), .array([.array([.integer(0), .integer(1)])]),
        .array([.array([.integer(5), .integer(1), .null])]), .array([.array([.integer(0), .integer(99_999), .null])]),
        .array([.array([.integer(-1), .integer(1), .null])]), .array([.array([.integer(0), .integer(1), .array([])])]),
        .array([.array([.integer(0), .integer(1), .array([.null, .integer(70_000)])])]),
    ])
    func whatIsBrokenInAMapIsLeftOut(_ value: RedisValue) throws {
        let map = try #require(ClusterMap(value, from: Self.asked))
        #expect(map.ranges.isEmpty)
    }

    @Test func otherReplyIsNoMap() {
        #expect(ClusterMap(.null, from: Self.asked) == nil)
    }

    // MARK: Sentinels

    private static func sentinel(_ host: String, _ port: String, epoch: String?) -> RedisValue {
        var words = ["name", "main", "ip", host, "port", port]
        if let epoch { words += ["config-epoch", epoch] }
        return .array(words.map { text($0) })
    }

    private static let sentinels = [1, 2, 3].map {
        RedisEndpoint(address: .tcp(host: "sentinel\($0)", port: 26_379))
    }

    private static func named(_ host: String, epoch: Int64) -> SentinelAnswer {
        SentinelAnswer(address: .tcp(host: host, port: 1), epoch: epoch)
    }

    @Test func majorityIsChosenElseTheLatestConfiguration() {
        var answers = SentinelAnswers(asked: 3, primary: "main")
        // Cut off when the primary was replaced, and the quickest to answer.
        answers.record(.success(Self.named("old", epoch: 3)), from: Self.sentinels[0])
        #expect(answers.best == Self.named("old", epoch: 3))
        answers.record(.success(Self.named("new", epoch: 4)), from: Self.sentinels[1])
        #expect(!answers.isComplete)
        #expect(answers.best == Self.named("new", epoch: 4))
        var last = answers
        answers.record(.success(Self.named("new", epoch: 4)), from: Self.sentinels[2])
        #expect(answers.isComplete)
        #expect(answers.best == Self.named("new", epoch: 4))
        last.record(.success(Self.named("old", epoch: 3)), from: Self.sentinels[2])
        #expect(last.best == Self.named("old", epoch: 3))
    }

    @Test func twoOfThreeSentinelsThatAgreeAreEnough() {
        var answers = SentinelAnswers(asked: 3, primary: "main")
        for sentinel in Self.sentinels.prefix(2) { answers.record(.success(Self.named("a", epoch: 1)), from: sentinel) }
        #expect(answers.isComplete)
    }

    @Test func oneSentinelIsEnough() {
        var answers = SentinelAnswers(asked: 3, primary: "main")
        answers.record(.failure(RedisError(.connectionLost, "gone")), from: Self.sentinels[0])
        answers.record(.success(Self.named("a", epoch: 0)), from: Self.sentinels[1])
        answers.record(.failure(RedisError(.timeout, "slow")), from: Self.sentinels[2])
        #expect(answers.isComplete)
        #expect(answers.best?.address == .tcp(host: "a", port: 1))
    }

    @Test func sentinelWithoutThePrimaryIsNamedInTheError() {
        var answers = SentinelAnswers(asked: 1, primary: "main")
        answers.record(.failure(RedisError(reply: "ERR No such master with that name")), from: Self.sentinels[0])
        #expect(answers.best == nil)
        #expect(answers.failure?.message.contains("sentinel1:26379: ERR No such master") == true)
        #expect(answers.failure?.message.contains("asked for main") == true)
        #expect(answers.failure?.message.contains("?master=") == true)
    }

    @Test(arguments: [
        RedisValue.null, .array([]), .array([.integer(1)]), sentinel("", "1", epoch: "1"),
        sentinel("a", "0", epoch: "1"),
        sentinel("a", "x", epoch: "1"),
    ])
    func answerWithoutAPrimaryIsRefused(_ value: RedisValue) {
        #expect(SentinelAnswer(facts: value) == nil)
    }

    @Test func theAnswersOfASentinelAreRead() {
        let facts = SentinelAnswer(facts: Self.sentinel("old", "1", epoch: "7"))
        #expect(facts == Self.named("old", epoch: 7))
        #expect(SentinelAnswer(facts: Self.sentinel("old", "1", epoch: nil)) == Self.named("old", epoch: 0))
        let address = RedisValue.array([Self.text("new"), Self.text("1")])
        #expect(SentinelAnswer(address: address, epoch: 7) == Self.named("new", epoch: 7))
        #expect(SentinelAnswer(address: .array([Self.text("new")]), epoch: 7) == nil)
        #expect(SentinelAnswer(address: .null, epoch: 7) == nil)
    }
}
