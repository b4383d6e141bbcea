import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare send` of an id that was pushed before, and to a project that does not send.
@Suite(.timeLimit(.minutes(10))) struct DuplicateTests {
    private let redis: RedisServer
    private let jobs = "fanfare:{demo}:jobs"

    init() throws { redis = try RedisServer() }

    private func send(_ more: [String], user: String = "") async throws -> CommandRun {
        let url = "unix://\(user)\(redis.socketPath)"
        return try await CommandRun(
            ["send", "--project", "demo", "--token", "a", "--title", "x", "--id", "j"] + more,
            environment: ["FANFARE_REDIS_URL": url]
        )
    }

    private func job(_ state: String, seen: Bool, _ more: String...) throws {
        let fields = ["state", state, "total", "1", "sent", "1", "created_ms", "1000"] + more
        for index in stride(from: 0, to: fields.count, by: 2) {
            _ = try redis.cli("HSET", "fanfare:{demo}:job:j", fields[index], fields[index + 1])
        }
        if seen { _ = try redis.cli("SET", "fanfare:{demo}:seen:j", "1-1") }
    }

    private func pushed() throws -> Int { Int(try redis.cli("XLEN", jobs).trimmingCharacters(in: .newlines)) ?? -1 }

    @Test func idThatWorkersRememberIsNotPushed() async throws {
        try job("done", seen: true)
        let run = try await send([])
        #expect(run.status == 0 && run.out == "j\n")
        #expect(run.err == "fanfare: job j was pushed before (state done): nothing is sent\n")
        let json = try await send(["--json"])
        #expect(json.out == #"{"id":"j","project":"demo","duplicate":true}"# + "\n")
        #expect(try pushed() == 0)
        _ = try redis.cli("DEL", "fanfare:{demo}:job:j")
        #expect(try await send([]).err.contains("(its state is no longer kept)"))
    }

    @Test func waitShowsTheEarlierJobAsADuplicate() async throws {
        try job("done", seen: true, "failed", "1", "sent", "0")
        let run = try await send(["--wait", "--json"])
        #expect(run.status == 1)
        #expect(run.out.contains(#""state":"done""#) && run.out.hasSuffix(",\"duplicate\":true}\n"), "\(run.out)")
        #expect(run.err.hasPrefix("fanfare: job j was pushed before (state done): nothing is sent\n"), "\(run.err)")
    }

    @Test func idOfAJobThatIsNotOverIsNotPushed() async throws {
        try job("active", seen: false)
        #expect(try await send([]).err == "fanfare: job j was pushed before (state active): nothing is sent\n")
        #expect(try pushed() == 0)
    }

    @Test(arguments: ["done", "rejected"])
    func forgottenIDIsPushedAndTheEarlierJobIsNotAwaited(state: String) async throws {
        try job(state, seen: false)
        async let run = send(["--wait"])
        while try pushed() < 1 { try await Task.sleep(for: .milliseconds(20)) }
        // A worker takes it and starts the hash again.
        _ = try redis.cli("HSET", "fanfare:{demo}:job:j", "created_ms", "2000", "state", "done", "sent", "1")
        let ended = try await run
        #expect(ended.status == 0 && !ended.err.contains("pushed before"), "\(ended.err)")
        #expect(ended.err.contains(":02 ") && ended.err.contains("pushed"), "\(ended.err)")
    }

    /// Another push of the id was taken between the question and this push.
    @Test func duplicateThatIsSeenWhileWaitingIsReported() async throws {
        try job("done", seen: false)
        async let run = send(["--wait", "--json"])
        while try pushed() < 1 { try await Task.sleep(for: .milliseconds(20)) }
        _ = try redis.cli("HSET", "fanfare:{demo}:job:j", "duplicates", "1")
        let ended = try await run
        #expect(ended.out.hasSuffix(",\"duplicate\":true}\n"), "\(ended.out)")
        #expect(ended.err.contains("job j was pushed before (state done): nothing is sent"), "\(ended.err)")
    }

    @Test func producerWithoutRightsIsToldWhatIsKnown() async throws {
        _ = try redis.cli(
            "ACL",
            "SETUSER",
            "p",
            "on",
            ">p",
            "~fanfare:projects",
            "~fanfare:{demo}:jobs",
            "%R~fanfare:{demo}:job:*",
            "-@all",
            "+ping",
            "+client|setname",
            "+role",
            "+info",
            "+xadd",
            "+sadd",
            "+hgetall",
            "+time"
        )
        let first = try await send([], user: "p:p@")
        #expect(first.status == 0 && first.err.isEmpty, "\(first.err)")
        try job("done", seen: true)
        let second = try await send(["--json"], user: "p:p@")
        #expect(second.status == 0 && second.out == #"{"id":"j","project":"demo"}"# + "\n")
        #expect(
            second.err.contains("a job j is there already (state done): unless its id is forgotten"),
            "\(second.err)"
        )
        #expect(try pushed() == 2)
    }

    @Test func projectThatDoesNotSendIsReported() async throws {
        let fresh = try await send([])
        #expect(fresh.err.hasPrefix("fanfare: warning: no worker has ever used this Redis"), "\(fresh.err)")
        let url = ["--redis", "unix://\(redis.socketPath)"]
        #expect(try await CommandRun(["functions", "load"] + url).status == 0)
        let unserved = try await send([])
        #expect(unserved.status == 0)
        #expect(
            unserved.err == "fanfare: warning: no worker serves project demo: the job waits until one starts\n"
        )
        #expect(try await CommandRun(["project", "pause", "demo", "--reason", "night"] + url).status == 0)
        let paused = try await send([])
        #expect(paused.err.contains("project demo is paused (night): the job waits; `fanfare project resume demo`"))
        #expect(paused.err.contains("no worker serves project demo"), "\(paused.err)")
    }
}
