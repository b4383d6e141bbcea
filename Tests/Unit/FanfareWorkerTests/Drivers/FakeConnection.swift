import EventLoop
import RedisTransport
import StreamWire

@testable import FanfareWorker

/// A connection to Redis that records its commands and is answered by hand, in the commands' order.
final class FakeConnection: CommandConnection {
    /// A command as its words. Of a call of Fanfare's functions the first word is the function's name, and the arguments
    /// follow.
    struct Sent {
        let words: [String]
        let timeoutMs: Int64?
        let completion: RedisConnection.Completion

        var name: String { words[0] }
        var arguments: [String] { Array(words.dropFirst()) }

        /// The answer of a server without jobs.
        var usualReply: RedisValue {
            switch name {
            case "INFO": .text("run_id:first\r\nmaxmemory_policy:noeviction\r\n")
            case "register": .pairs(["outcome": .text("ok"), "news_cursor": .text("9")])
            case "reconcile": .pairs(["freed": .integer(0), "lost": .array([])])
            case "record": .pairs(["outcome": .text("ok")])
            case "EXISTS", "XLEN": .integer(0)
            case "claim": .claimed(nowMs: SystemClock.nowMs)
            default: .status("OK")
            }
        }
    }

    private(set) var state = RedisState.connecting
    let endpoint = RedisDeployment.sample.server
    var limits = RedisLimits()
    var sentinelState: SentinelState?
    var onStateChange: (RedisState) -> Void = { _ in }
    var onFunctionMissing: () -> Void = {}

    private(set) var hasConnected = false
    /// Commands without an answer yet, oldest first.
    private(set) var waiting: [Sent] = []
    /// The names of all commands that were sent since the last ``removeNames()``.
    private(set) var names: [String] = []
    /// The names of commands that were sent while the connection was not ready, which fail at once.
    private(set) var namesWhileAway: [String] = []

    func connect() { hasConnected = true }
    func close() { change(.closed, code: .connectionLost) }
    func writeNow() {}

    func send(_ command: RedisCommand, timeoutMs: Int64?, _ completion: @escaping RedisConnection.Completion) {
        let sent = Sent(words: Self.words(command), timeoutMs: timeoutMs, completion: completion)
        guard state == .ready else {
            namesWhileAway.append(sent.name)
            return completion(.failure(RedisError(.notConnected, "no connection")))
        }
        waiting.append(sent)
        names.append(sent.name)
    }

    // MARK: The test's side

    func becomeReady() {
        state = .ready
        onStateChange(.ready)
    }

    /// The commands in flight fail, as on a real connection: after the change of state.
    func lose(_ code: RedisError.Code = .connectionLost) {
        change(.unavailable(RedisError(code, "lost")), code: code)
    }

    private func change(_ state: RedisState, code: RedisError.Code) {
        self.state = state
        let lost = waiting
        waiting = []
        onStateChange(state)
        for sent in lost { sent.completion(.failure(RedisError(code, "lost", maybeApplied: true))) }
    }

    /// Answers the oldest command.
    func answer(_ value: RedisValue) {
        guard !waiting.isEmpty else { return }
        waiting.removeFirst().completion(.success(value))
    }

    /// Answers the oldest command with an error of the server.
    func refuse(_ line: String = "ERR refused") {
        guard !waiting.isEmpty else { return }
        waiting.removeFirst().completion(.failure(RedisError(reply: line)))
    }

    /// Fails the oldest command with an error of the transport that leaves the connection as it is.
    func fail(_ code: RedisError.Code) {
        guard !waiting.isEmpty else { return }
        waiting.removeFirst().completion(.failure(RedisError(code, "failed")))
    }

    /// Answers commands, including commands that follow from the answers, up to the first one for which `reply` has no
    /// answer.
    func serve(_ reply: (Sent) -> RedisValue?) {
        while let first = waiting.first, let value = reply(first) { answer(value) }
    }

    /// Empties ``names`` and returns them.
    func removeNames() -> [String] {
        defer { names = [] }
        return names
    }

    /// Takes the oldest command out of ``waiting``: the test calls its completion itself, later.
    func removeFirst() -> Sent { waiting.removeFirst() }

    private static func words(_ command: RedisCommand) -> [String] {
        var start = 0
        let words = command.ends.map { end in
            defer { start = end }
            return String(decoding: command.bytes[start..<end], as: UTF8.self)
        }
        guard words[0] == "FCALL", words[1].hasPrefix(FunctionLibrary.name + "_") else { return words }
        let function = String(words[1].dropFirst(FunctionLibrary.name.count + 1))
        return [function] + words.dropFirst(3 + (Int(words[2]) ?? 1))
    }
}

extension RedisDeployment {
    /// No test connects to it.
    static var sample: RedisDeployment { RedisDeployment(RedisEndpoint(address: .tcp(host: "localhost", port: 1))) }
}

extension RedisValue {
    static func text(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }

    /// The reply of a function.
    static func pairs(_ pairs: KeyValuePairs<String, RedisValue>) -> RedisValue {
        .array(pairs.flatMap { [.text($0.key), $0.value] })
    }

    /// The reply of a claim.
    ///
    /// - Parameter more: names and values that follow those of a claim without work.
    static func claimed(
        nowMs: Int64,
        unfinished: Int64 = 0,
        permits: Int64 = 0,
        nextDueInMs: Int64? = nil,
        _ more: [RedisValue] = []
    ) -> RedisValue {
        let pairs = RedisValue.pairs([
            "outcome": .text("ok"), "now": .integer(nowMs), "clock_offset": .integer(0), "hold_ms": .integer(0),
            "probe_ms": .integer(0), "block": .text(""), "next_due": .integer(nextDueInMs.map { nowMs + $0 } ?? 0),
            "unfinished": .integer(unfinished), "permits": .integer(permits), "pause": .text(""),
            "pressure": .text(""), "news_cursor": .text("7"), "refused_cursor": .text("0"), "news": .array([]),
        ])
        var all = (pairs.array ?? []) + more
        let names = stride(from: 0, to: all.count, by: 2).map { all[$0].string }
        for (name, value) in [("copying", RedisValue.text("")), ("claims", .array([]))] where !names.contains(name) {
            all += [.text(name), value]
        }
        return .array(all)
    }

    /// A batch in the reply of a claim, with the token `token`.
    ///
    /// - Parameter watermark: sends below this position may begin.
    static func batch(_ job: String, watermark: Int64 = 0) -> RedisValue {
        .pairs([
            "job": .text(job), "batch": .text("0"), "epoch": .text("3"), "pass": .text("first"),
            "watermark": .integer(watermark), "deliveries": .integer(1), "recipients": .text("token"),
        ])
    }
}
