internal import EventLoop
internal import FanfareCore
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Reads the projects' job streams on a connection of its own, because it blocks there until something arrives.
/// Reads only as much as the projects have room for.
final class StreamReader {
    private let loop: EventLoop
    private let connection: RedisConnection
    private let consumer: String
    private let projects: [ProjectRunner]
    private let logger: Logger
    private var isReading = false
    private var isStopped = false
    /// Entries that were given to this consumer before, and may not have been handed over, come first.
    private var recovered: Set<String> = []
    /// Where the next page of them begins.
    private var pages: [String: String] = [:]
    /// Where it goes on when the first of them have been looked at again.
    private var resumed: [String: String] = [:]
    private var allowances: [String: ReadSizer] = [:]
    /// Where entries may be too large to ask all streams at once: whose turn it is, and how many had nothing in a row.
    private var turn = 0
    private var quiet = 0
    private var timer: TimerID?
    /// When all streams were asked last, none had anything, and nothing was found since.
    private(set) var foundNothing = false

    private static let blockMs: Int64 = 500
    /// While entries of others are being claimed, which has to be noticed soon.
    private static let shortBlockMs: Int64 = 20
    /// Bytes of an answer that may hold several entries. Were it as much as a single one may have, a few large ones that
    /// nobody expected would be held together.
    private static let mostOfSeveral = 128 << 20
    private static let mostOfOne = RedisLimits().maxReplyBytes

    init(
        loop: EventLoop,
        connection: RedisConnection,
        consumer: String,
        projects: [ProjectRunner],
        logger: Logger
    ) {
        self.loop = loop
        self.connection = connection
        self.consumer = consumer
        self.projects = projects
        self.logger = logger
    }

    func start() {
        connection.onStateChange = { [weak self] state in
            guard let self, state == .ready else { return }
            // The reply to a read may have been lost with the connection; its entries are ours and still pending.
            recovered = []
            pages = [:]
            resumed = [:]
            isReading = false
            foundNothing = false
            quiet = 0
            read()
        }
        connection.connect()
    }

    func stop() {
        isStopped = true
        connection.close()
    }

    func read() {
        guard !isReading, !isStopped, connection.state == .ready else { return }
        for runner in projects where runner.intake.takeLeftovers() {
            // The first of them once more, and then on from where it was: a page that always fails must not keep the reader
            // from those behind it, nor from what is new.
            recovered.remove(runner.id)
            resumed[runner.id] = pages[runner.id]
            pages[runner.id] = nil
        }
        if let runner = projects.first(where: { !recovered.contains($0.id) && $0.isReady && $0.intake.room > 0 }) {
            return recover(runner)
        }
        let ready = projects.filter { $0.isReady && $0.intake.room > 0 && !$0.intake.leftoversAreDue }
        guard !ready.isEmpty else { return readLater(20) }
        // In turns, where entries may be too large to ask for all. Once nothing waits, all are asked: whoever pushes first
        // ends the wait.
        turn %= ready.count
        let inTurn = Array(ready[turn...] + ready[..<turn])
        let most = ReadSizer.streams(inTurn.map(allowance))
        guard most < ready.count, quiet < ready.count else {
            // A project without room has it in a moment, and its entries would wait for the others'.
            guard !projects.contains(where: { $0.isReady && $0.intake.isFull }) else { return ask(ready, blockMs: nil) }
            // What was not handed over is to be read again soon.
            let isAwaited = projects.contains { $0.isClaiming || $0.intake.hasLeftovers }
            return ask(ready, blockMs: isAwaited ? Self.shortBlockMs : Self.blockMs)
        }
        turn += most
        ask(Array(inTurn[..<most]), blockMs: nil)
    }

    private func allowance(_ runner: ProjectRunner) -> ReadSizer {
        allowances[runner.id, default: ReadSizer()]
    }

    /// One timer, however many ask for it.
    private func readLater(_ milliseconds: Int64) {
        guard timer == nil else { return }
        timer = loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            self?.timer = nil
            self?.read()
        }
    }

    private func ask(_ asked: [ProjectRunner], blockMs: Int64?) {
        let count = min(ReadSizer.count(asked.map(allowance)), asked.map(\.intake.room).min() ?? 1)
        let command = JobStream.read(asked.map(\.context.keys), worker: consumer, count: count, blockMs: blockMs)
        send(command, most: count * asked.count, timeoutMs: (blockMs ?? 0) + 10_000) { [weak self] result in
            guard let self else { return }
            var isQuiet = false
            if case .success(let value) = result {
                let isEmpty = StreamEntry.isEmpty(value)
                quiet = isEmpty ? quiet + asked.count : 0
                if blockMs != nil || !isEmpty { foundNothing = isEmpty }
                isQuiet = isEmpty && blockMs == nil && quiet >= asked.count + projects.count
            }
            finished(result, asked, isQuiet: isQuiet)
        }
    }

    /// - Parameter most: entries that the answer may hold.
    private func send(
        _ command: RedisCommand,
        most: Int,
        timeoutMs: Int64,
        _ completion: @escaping RedisConnection.Completion
    ) {
        isReading = true
        connection.limits.maxReplyBytes = most > 1 ? Self.mostOfSeveral : Self.mostOfOne
        connection.send(command, timeoutMs: timeoutMs, completion)
    }

    private func recover(_ runner: ProjectRunner) {
        foundNothing = false
        let count = min(ReadSizer.count([allowance(runner)]), runner.intake.room)
        let command = JobStream.read(
            [runner.context.keys],
            worker: consumer,
            count: count,
            blockMs: nil,
            id: pages[runner.id] ?? "0"
        )
        send(command, most: count, timeoutMs: 10_000) { [weak self] result in
            guard let self else { return }
            if case .success(let value) = result {
                let last = StreamEntry.lastID(value)
                let next = resumed.removeValue(forKey: runner.id)
                pages[runner.id] = last.map { last in
                    next.map { StreamEntry.isLater($0, than: last) ? $0 : last } ?? last
                }
                if last == nil { recovered.insert(runner.id) }
            }
            finished(result, [runner], isQuiet: false)
        }
    }

    /// - Parameter isQuiet: asked again at once, they would have nothing again.
    private func finished(_ result: Result<RedisValue, RedisError>, _ asked: [ProjectRunner], isQuiet: Bool) {
        switch result {
        case .success(let value):
            let streams = StreamEntry.byStream(value)
            for runner in asked {
                let entries = streams.first { $0.stream == runner.context.keys.jobs }?.entries ?? []
                allowances[runner.id, default: ReadSizer()].took(largest: entries.map(\.byteCount).max() ?? 0)
                runner.intake.receive(entries)
            }
            // Behind them all: what one of them does must not read on before the others have theirs.
            isReading = false
            if isQuiet { readLater(20) } else { read() }
        case .failure(let error):
            isReading = false
            if error.code == .noGroup {
                // Somebody deleted the stream or its group: made anew from the beginning, so that nothing is skipped.
                logger.error("A job stream lost its consumer group; it is made anew.", metadata: ["error": "\(error)"])
                for runner in asked { runner.createGroup() }
            } else if error.code == .protocolError {
                logger.warning(
                    "Entries cannot be read together; they are read one by one.",
                    metadata: ["error": "\(error)"]
                )
                for runner in asked { allowances[runner.id, default: ReadSizer()].tookTooMuch() }
            } else {
                logger.debug("Reading failed.", metadata: ["error": "\(error)"])
            }
            readLater(200)
        }
    }
}
