import FanfareCore
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// Which calls are sent together, and when a write counts as done.
@Suite struct ProjectConnectionTests {
    private final class Results { var all: [String] = [] }

    private let loop: EventLoop
    private let redis = FakeConnection()
    private let heard = HeardLog()
    private let results = Results()
    private let refusals = Results()
    private let keys = ProjectKeys(prefix: "fanfare", project: "p")

    private let connection: ProjectConnection
    /// Its writes are confirmed by two replicas.
    private let safe: ProjectConnection

    init() throws {
        let loop = try EventLoop()
        self.loop = loop
        let (redis, keys, heard, refusals) = (redis, keys, heard, refusals)
        func make(replicas: Int) -> ProjectConnection {
            let connection = ProjectConnection(
                redis,
                loop: loop,
                keys: keys,
                replicas: replicas,
                logger: heard.logger
            )
            connection.onRefused = { [refusals] in refusals.all.append("\($0.code)") }
            return connection
        }
        (connection, safe) = (make(replicas: 0), make(replicas: 2))
        redis.becomeReady()
    }

    /// Records how a command ended, under a name.
    private func record(_ name: String) -> ProjectConnection.Completion {
        { [results] result in
            switch result {
            case .success: results.all.append("\(name) ok")
            case .failure(let error): results.all.append("\(name) \(error.code)")
            }
        }
    }

    private func call(_ job: String, results: Int = 1) -> RedisCommand {
        DriverBench.flush(job, results: results).call.command(keys, worker: "w", nowMs: 0, indexesTokens: false)
    }

    // MARK: Calls together

    @Test func callsOfOneTurnAreOneCommandWithAnAnswerForEach() {
        for job in ["a", "b", "c"] { connection.append(call(job), as: .record, record(job)) }
        #expect(redis.names == [])
        loop.advance()
        #expect(redis.names == ["records"])
        redis.answer(.array([.status("OK"), .error("OOM full"), .status("OK")]))
        #expect(results.all == ["a ok", "b OOM", "c ok"] && refusals.all == ["OOM"])
    }

    @Test func oneCallAloneIsSentAsItIs() {
        connection.append(call("a"), as: .record, record("a"))
        loop.advance()
        #expect(redis.names == ["record"])
        redis.refuse("NOPERM no right")
        #expect(results.all == ["a NOPERM"] && refusals.all == ["NOPERM"])
    }

    @Test func lostConnectionFailsEachCall() {
        for job in ["a", "b"] { connection.append(call(job), as: .record, record(job)) }
        loop.advance()
        redis.lose()
        #expect(results.all.count == 2 && results.all.allSatisfy { !$0.hasSuffix("ok") })
    }

    /// A later command may depend on them.
    @Test(arguments: ["command", "write now"]) func earlierCallsAreSentBefore(_ next: String) {
        for job in ["a", "b"] { connection.append(call(job), as: .record, record(job)) }
        switch next {
        case "command": connection.send(RedisCommand("PING"), record("ping"))
        default: connection.writeNow()
        }
        #expect(redis.names == (next == "command" ? ["records", "PING"] : ["records"]))
    }

    @Test func callsOfEachFunctionAreSentTogether() {
        for job in ["a", "b", "c", "d"] {
            connection.append(call(job), as: ["a", "b"].contains(job) ? .record : .intake, record(job))
        }
        loop.advance()
        #expect(redis.names == ["intakes", "records"])
    }

    @Test func callsOfTwoMillisecondsAreSentTogether() {
        for job in 0..<80 { connection.append(call(String(job)), as: .record, record("")) }
        loop.advance()
        #expect(redis.names == ["records", "records"])
    }

    /// Two unanswered calls keep Redis and the worker busy; the next ones wait for an answer, and are sent together.
    @Test func callsWaitForUnansweredOnes() {
        for job in ["a", "b", "c", "d"] {
            connection.append(call(job), as: .record, record(job))
            loop.advance()
        }
        #expect(redis.names == ["record", "record"])
        redis.answer(.status("ok"))
        loop.advance()
        #expect(redis.names == ["record", "record", "records"])
    }

    @Test func largeCallGoesByItself() {
        connection.append(call("a", results: 1_000), as: .record, record("a"))
        #expect(redis.names == ["record"])
    }

    // MARK: Replicas

    /// Only the confirmation is repeated: the write is done.
    @Test func writeIsDoneOnceTheReplicasHaveIt() {
        safe.write(RedisCommand("SET", "k", "v"), record("a"))
        #expect(redis.waiting.map(\.words) == [["SET", "k", "v"], ["WAIT", "2", "1000"]])
        redis.answer(.status("OK"))
        for _ in 0..<3 {
            redis.answer(.integer(1))
            #expect(results.all == [] && redis.waiting.map(\.name) == ["WAIT"])
        }
        #expect(heard.metadata == [["confirmed": "1", "wanted": "2"]], "the error is throttled")
        redis.answer(.integer(2))
        #expect(results.all == ["a ok"] && refusals.all == [])
    }

    @Test func writeWithoutAConfirmationHasFailed() {
        safe.write(RedisCommand("SET", "k", "v"), record("a"))
        redis.answer(.status("OK"))
        redis.fail(.timeout)
        #expect(results.all.count == 1 && results.all.first != "a ok")
    }

    @Test func refusedWriteIsReportedAfterItsConfirmation() {
        safe.write(RedisCommand("SET", "k", "v"), record("a"))
        redis.refuse("OOM full")
        #expect(results.all == [])
        redis.answer(.integer(2))
        #expect(results.all == ["a OOM"] && refusals.all == ["OOM"])
    }

    /// The library is loaded again, which is no fault of the project.
    @Test func missingFunctionIsNoRefusal() {
        connection.write(RedisCommand("FCALL", "f", "0"), record("a"))
        redis.fail(.functionNotFound)
        #expect(results.all.count == 1 && refusals.all == [])
    }
}
