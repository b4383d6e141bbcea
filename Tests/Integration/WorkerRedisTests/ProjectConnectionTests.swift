import EventLoop
import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareWorker

/// The writes of a worker for several jobs within a turn.
@Suite struct ProjectConnectionTests {
    private let keys = ProjectKeys(project: "p")

    private func call(_ job: String) -> RedisCommand {
        RecordCall(job: job, batch: "0", epoch: "1").command(keys, worker: "w")
    }

    /// A hundred calls of a turn are sent as two; a later command follows them.
    @Test func callsOfATurnAreSentTogetherAndInOrder() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let heard = Locked<[String]>([])
        try onRedis(server) { redis, finish in
            for number in 0..<100 {
                redis.append(call("j\(number)"), as: .record) { result in
                    heard.withLock { $0.append(Self.word(result)) }
                }
            }
            redis.send(RedisCommand("ECHO", "after")) { result in
                heard.withLock { $0.append((try? result.get())?.string ?? "") }
                finish()
            }
        }
        #expect(heard.withLock { $0 } == Array(repeating: "gone", count: 100) + ["after"])
        #expect(try server.calls(of: "fcall") == 2)
    }

    /// While Redis owes two answers, further calls wait for one of them, and are sent together.
    @Test func callsWaitForUnansweredOnes() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let heard = Locked(0)
        try onRedis(server) { redis, finish in
            for number in 0..<2 {
                redis.append(call("first\(number)"), as: .record) { _ in }
                redis.writeNow()
            }
            for number in 0..<20 {
                redis.append(call("j\(number)"), as: .record) { _ in
                    heard.withLock { $0 += 1 }
                    if heard.withLock({ $0 }) == 20 { finish() }
                }
            }
        }
        #expect(try server.calls(of: "fcall") == 3)
    }

    /// Without a later command the loop's next timers send it.
    @Test func singleCallIsSentByTheNextTimers() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let heard = Locked<[String]>([])
        try onRedis(server) { redis, finish in
            redis.append(call("j"), as: .record) { result in
                heard.withLock { $0.append(Self.word(result)) }
                finish()
            }
        }
        #expect(heard.withLock { $0 } == ["gone"])
    }

    /// The library is older or deleted: every call fails with the reason, and the missing functions are reported once.
    @Test(arguments: [nil, "('unheard_of'"]) func missingFunctionsAreReported(_ other: String?) throws {
        let server = try RedisServer()
        defer { server.stop() }
        let heard = Locked<[String]>([])
        let library = String(decoding: FunctionLibrary.source, as: UTF8.self)
        let changed = other.map { library.replacing("('records'", with: $0) }
        try onRedis(server, library: changed, onFunctionMissing: { heard.withLock { $0.append("missing") } }) {
            redis,
            finish in
            for number in 0..<3 {
                redis.append(call("j\(number)"), as: .record) { result in
                    guard case .failure(let error) = result else { return }
                    heard.withLock { $0.append("\(error.code)") }
                    if number == 2 { finish() }
                }
            }
        }
        #expect(heard.withLock { $0 } == ["missing"] + Array(repeating: "function_not_found", count: 3))
    }

    /// Whatever is called, and whether or not its answer matters.
    @Test func everyCallReportsAMissingFunction() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let reports = Locked(0)
        let calls = [
            FunctionLibrary.register(keys, worker: "w"), FunctionLibrary.renew(.init(keys, worker: "w")),
            FunctionLibrary.reconcile(keys, worker: "w", isSameServer: true, known: []),
            FunctionLibrary.spec(keys, job: "j"), FunctionLibrary.check(keys),
        ]
        try onRedis(server, library: nil, onFunctionMissing: { reports.withLock { $0 += 1 } }) { redis, finish in
            for call in calls { redis.send(call) { _ in } }
            redis.send(RedisCommand("PING")) { _ in finish() }
        }
        #expect(reports.withLock { $0 } == calls.count)
    }

    /// Calls of one function are sent together, whatever comes between; a large one by itself, after those before it.
    @Test func onlyCallsOfOneFunctionAreSentTogether() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let heard = Locked<[String]>([])
        try onRedis(server) { redis, finish in
            var large = RecordCall(job: "large", batch: "0", epoch: "1")
            large.blockReason = String(repeating: "x", count: 8_000)
            let calls: [(String, RedisCommand, FunctionLibrary.Coalesced)] = [
                ("a", call("a"), .record), ("b", call("b"), .record),
                ("c", FunctionLibrary.spec(keys, job: "c"), .intake),
                ("d", call("d"), .record), ("large", large.command(keys, worker: "w"), .record),
                ("e", call("e"), .record),
            ]
            for (name, call, function) in calls {
                redis.append(call, as: function) { _ in
                    heard.withLock { $0.append(name) }
                    if name == "e" { finish() }
                }
            }
        }
        #expect(heard.withLock { $0 } == ["a", "b", "d", "c", "large", "e"])
        #expect(try server.calls(of: "fcall") == 4)
    }

    /// The connection is lost before the calls are sent: each call fails by itself.
    @Test func eachCallFailsWithoutAConnection() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let heard = Locked<[String]>([])
        try onRedis(server) { redis, finish in
            for number in 0..<3 {
                redis.append(call("j\(number)"), as: .record) { result in
                    guard case .failure(let error) = result else { return }
                    withExtendedLifetime(redis) { heard.withLock { $0.append("\(error.code)") } }
                }
            }
            finish()
        }
        #expect(heard.withLock { $0 } == Array(repeating: "not_connected", count: 3))
    }

    private static func word(_ result: Result<RedisValue, RedisError>) -> String {
        (try? result.get()).flatMap(RecordReply.init).map { "\($0)" } ?? "nothing"
    }

    private func onRedis(
        _ server: RedisServer,
        library: String? = String(decoding: FunctionLibrary.source, as: UTF8.self),
        onFunctionMissing: @escaping @Sendable () -> Void = {},
        _ body: @escaping @Sendable (ProjectConnection, _ finish: @escaping () -> Void) -> Void
    ) throws {
        let keys = keys
        try runLoop { loop in
            let connection = RedisConnection(
                loop: loop,
                deployment: RedisDeployment(server.endpoint),
                name: "a test"
            )
            let redis = ProjectConnection(
                connection,
                loop: loop,
                keys: keys,
                replicas: 0,
                logger: Logger(label: "test")
            )
            let finish = {
                withExtendedLifetime(redis) { connection.close() }
                connection.onStateChange = { _ in }
                loop.stop()
            }
            connection.onFunctionMissing = onFunctionMissing
            connection.onStateChange = { state in
                guard state == .ready else { return }
                guard let library else { return body(redis, finish) }
                redis.send(RedisCommand("FUNCTION", "LOAD", library)) { _ in body(redis, finish) }
            }
            connection.connect()
        }
    }
}

extension RedisServer {
    /// How often the server executed a command.
    fileprivate func calls(of command: String) throws -> Int {
        let lines = try cli("INFO", "commandstats").split(whereSeparator: \.isNewline)
        guard let line = lines.first(where: { $0.hasPrefix("cmdstat_\(command):") }),
            let part = line.split(separator: ",").first, let text = part.split(separator: "=").last
        else { return 0 }
        return Int(text) ?? 0
    }
}
