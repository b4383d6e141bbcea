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
    private var allowance = EntryAllowance()
    /// The last blocking read ended with nothing.
    private(set) var foundNothing = false

    private static let blockMs: Int64 = 500

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
            isReading = false
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
        for runner in projects where runner.intake.takeLeftovers() { recovered.remove(runner.id) }
        if let runner = projects.first(where: { !recovered.contains($0.id) && $0.isReady && $0.intake.room > 0 }) {
            return recover(runner)
        }
        let ready = projects.filter { $0.isReady && $0.intake.room > 0 && !$0.intake.hasLeftovers }
        guard !ready.isEmpty else {
            loop.schedule(afterMilliseconds: 20) { [weak self] in self?.read() }
            return
        }
        isReading = true
        let count = min(allowance.count(streams: ready.count), ready.map(\.intake.room).min() ?? 1)
        let command = JobStream.read(
            ready.map(\.context.keys),
            worker: consumer,
            count: count,
            blockMs: Self.blockMs
        )
        connection.send(command, timeoutMs: Self.blockMs + 10_000) { [weak self] result in
            self?.finished(result, ready)
        }
    }

    private func recover(_ runner: ProjectRunner) {
        isReading = true
        let command = JobStream.read(
            [runner.context.keys],
            worker: consumer,
            count: min(allowance.count(streams: 1), runner.intake.room),
            blockMs: nil,
            id: pages[runner.id] ?? "0"
        )
        connection.send(command) { [weak self] result in
            guard let self else { return }
            if case .success(let value) = result {
                let last = StreamEntry.lastID(value)
                pages[runner.id] = last
                if last == nil { recovered.insert(runner.id) }
            }
            finished(result, [runner])
        }
    }

    private func finished(_ result: Result<RedisValue, RedisError>, _ asked: [ProjectRunner]) {
        isReading = false
        switch result {
        case .success(let value):
            let streams = StreamEntry.byStream(value)
            foundNothing = streams.allSatisfy(\.entries.isEmpty)
            allowance.took(largest: streams.flatMap(\.entries).map(\.byteCount).max() ?? 0)
            for (stream, entries) in streams {
                asked.first { $0.context.keys.jobs == stream }?.intake.receive(entries)
            }
            read()
        case .failure(let error):
            if error.code == .noGroup {
                // Somebody deleted the stream or its group: made anew from the beginning, so that nothing is skipped.
                logger.error("A job stream lost its consumer group; it is made anew.", metadata: ["error": "\(error)"])
                for runner in asked { runner.createGroup() }
            } else if error.code == .protocolError {
                logger.warning(
                    "Entries cannot be read together; they are read one by one.",
                    metadata: ["error": "\(error)"]
                )
                allowance.tookTooMuch()
            } else {
                logger.debug("Reading failed.", metadata: ["error": "\(error)"])
            }
            loop.schedule(afterMilliseconds: 200) { [weak self] in self?.read() }
        }
    }
}
