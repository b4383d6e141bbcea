internal import EventLoop
internal import FanfareCore
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Reads the projects' job streams on a connection of its own, because it blocks there until something arrives.
/// ``ReadPlan`` decides what to read; this class reads it.
final class StreamReader {
    private let loop: EventLoop
    private let connection: any CommandConnection
    private let consumer: String
    /// By their streams' places in the plan. The place of a project that was removed is empty until another one takes it.
    private var projects: [ProjectRunner?] = []
    private let logger: Logger
    private var plan: ReadPlan
    /// Whether this reader is to read the stream of a place; see ``ReadSplit``.
    var mayRead: (_ place: Int, _ isWanted: Bool) -> Bool = { _, _ in true }
    /// Called before the entries of a place are handed over.
    var onEntries: (_ place: Int) -> Void = { _ in }
    /// Called with places of which Redis may have delivered entries that nobody received.
    var onLost: (_ places: [Int]) -> Void = { _ in }

    /// Bytes of an answer that may hold several entries. With the limit of a single one, several
    /// unexpectedly large entries would be held together.
    private static let maximumOfSeveral = 128 << 20
    private static let maximumOfOne = RedisLimits().maximumReplyBytes
    private static let timeoutMs: Int64 = 10_000

    init(
        loop: EventLoop,
        connection: any CommandConnection,
        consumer: String,
        logger: Logger,
        isSleeper: Bool = false
    ) {
        plan = ReadPlan(streams: 0, isSleeper: isSleeper)
        self.loop = loop
        self.connection = connection
        self.consumer = consumer
        self.logger = logger
    }

    func add(_ runner: ProjectRunner) {
        if let place = projects.firstIndex(where: { $0 == nil }) {
            projects[place] = runner
            plan.restart(stream: place)
        } else {
            projects.append(runner)
            plan.addStream()
        }
    }

    /// The places of another reader, with nil where a project was removed.
    func add(_ places: [ProjectRunner?]) {
        projects += places
        for _ in places { plan.addStream() }
    }

    /// Entries that a read in flight brings stay pending: the next runner of the project reads them first.
    func remove(_ runner: ProjectRunner) {
        guard let place = projects.firstIndex(where: { $0 === runner }) else { return }
        projects[place] = nil
    }

    /// The last read of all streams found nothing, and no later read found anything.
    var foundNothing: Bool { plan.foundNothing }

    func start() {
        connection.onStateChange = { [weak self] state in
            guard let self else { return }
            guard state != .ready else { return handle(.connected(demands)) }
            let lost = projects.indices.filter(plan.isReading)
            handle(.disconnected)
            if !lost.isEmpty { onLost(lost) }
        }
        connection.connect()
    }

    func stop() {
        handle(.stopped)
        connection.close()
    }

    /// Reads if there is room for entries now and no read is in flight.
    func readIfPossible() { if plan.isIdle { handle(.ready(demands)) } }

    func isReading(_ place: Int) -> Bool { plan.isReading(place) }
    func isRecovered(_ place: Int) -> Bool { plan.isRecovered(place) }
    func recover(_ places: [Int]) { for place in places { plan.recover(stream: place) } }

    private var demands: [ReadPlan.Demand] {
        projects.enumerated().map { place, runner in
            guard let runner else { return .none }
            let (isReclaiming, isQuiet) = (runner.reclaimer.isClaiming, runner.context.isQuiet)
            // Of a thousand streams, few are this reader's: nothing more is asked of the others.
            guard mayRead(place, isReclaiming || !isQuiet || runner.intake.hasLeftovers) else { return .elsewhere }
            var demand = runner.intake.demand
            if !runner.isReady { (demand.room, demand.isFull) = (0, false) }
            (demand.isReclaiming, demand.isQuiet) = (isReclaiming, isQuiet)
            return demand
        }
    }

    private func handle(_ event: ReadPlan.Event) {
        var actions: [ReadPlan.Action] = []
        plan.handle(event, into: &actions)
        for action in actions {
            switch action {
            case .read(let read): perform(read)
            case .wait(let milliseconds):
                loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
                    guard let self else { return }
                    handle(.waited(demands))
                }
            case .rereadLeftovers(let index): projects[index]?.intake.leftoversReread()
            case .createGroups(let indices): for index in indices { projects[index]?.session.handle(.groupMissing) }
            }
        }
    }

    private func perform(_ read: ReadPlan.Read) {
        // A place that lost its project since the plan was made is not in `read`: its demand is 0.
        let runners = read.streams.compactMap { projects[$0] }
        guard runners.count == read.streams.count else { return handle(.failed(.other)) }
        let command = JobStream.read(
            runners.map(\.context.keys),
            worker: consumer,
            count: read.count,
            blockMs: read.blockMs,
            id: read.after ?? ">"
        )
        connection.limits.maximumReplyBytes = read.maximumEntries > 1 ? Self.maximumOfSeveral : Self.maximumOfOne
        connection.send(command, timeoutMs: (read.blockMs ?? 0) + Self.timeoutMs) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let value): received(value, read, runners)
            case .failure(let error): failed(error)
            }
        }
    }

    /// - Parameter runners: of the streams that were read, when the read began.
    private func received(_ value: RedisValue, _ read: ReadPlan.Read, _ runners: [ProjectRunner]) {
        let isEmpty = StreamEntry.isEmpty(value)
        let streams = isEmpty ? [] : StreamEntry.byStream(value)
        let entries = runners.map { runner in
            streams.first { $0.stream == runner.context.keys.jobs }?.entries ?? []
        }
        let answer = ReadPlan.Answer(
            largest: entries.map { $0.map(\.byteCount).max() ?? 0 },
            last: StreamEntry.lastID(value),
            isEmpty: isEmpty
        )
        for (index, place) in read.streams.enumerated() {
            let (intake, new) = (runners[index].intake, entries[index])
            guard projects[place] === runners[index] else {
                if !new.isEmpty { onLost([place]) }
                continue
            }
            if !new.isEmpty { onEntries(place) }
            // Without new entries the intake looks at the entries that wait there.
            if !new.isEmpty || !intake.isIdle { intake.receive(new) }
        }
        handle(.answered(answer, demands))
    }

    private func failed(_ error: RedisError) {
        switch error.code {
        case .noGroup:
            // The stream or its group was deleted. The new group begins with the first entry, so that nothing is skipped.
            logger.error("A job stream lost its consumer group; it is created again.", metadata: ["error": "\(error)"])
            handle(.failed(.groupMissing))
        case .protocolError:
            logger.warning(
                "Entries cannot be read together; they are read one by one.",
                metadata: ["error": "\(error)"]
            )
            handle(.failed(.answerTooLarge))
        default:
            logger.debug("Reading failed.", metadata: ["error": "\(error)"])
            handle(.failed(.other))
        }
    }
}
