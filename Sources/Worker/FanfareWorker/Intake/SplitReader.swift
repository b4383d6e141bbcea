internal import EventLoop
internal import FanfareCore
internal import Logging
internal import RedisTransport

/// Reads the job streams of one server with two readers, as ``ReadSplit`` says. With few projects there is only one.
final class SplitReader {
    private let loop: EventLoop
    private let waking: StreamReader
    private let makeSleeper: () -> StreamReader
    private var sleeping: StreamReader?
    private var split = ReadSplit()
    /// As in the readers: the places of removed projects are empty until others take them.
    private var places: [ProjectRunner?] = []
    private var isStarted = false

    init(
        loop: EventLoop,
        consumer: String,
        logger: Logger,
        connect: @escaping (_ name: String) -> any CommandConnection
    ) {
        self.loop = loop
        waking = StreamReader(loop: loop, connection: connect("fanfare-reader"), consumer: consumer, logger: logger)
        makeSleeper = {
            StreamReader(
                loop: loop,
                connection: connect("fanfare-sleeper"),
                consumer: consumer,
                logger: logger,
                isSleeper: true
            )
        }
    }

    func add(_ runner: ProjectRunner) {
        if let place = places.firstIndex(where: { $0 == nil }) { places[place] = runner } else { places.append(runner) }
        waking.add(runner)
        sleeping?.add(runner)
        splitIfMany()
    }

    func remove(_ runner: ProjectRunner) {
        for place in places.indices where places[place] === runner { places[place] = nil }
        waking.remove(runner)
        sleeping?.remove(runner)
    }

    /// See ``StreamReader/foundNothing``.
    var foundNothing: Bool { waking.foundNothing && sleeping?.foundNothing != false }

    func start() {
        isStarted = true
        waking.start()
        splitIfMany()
    }

    func stop() {
        waking.stop()
        sleeping?.stop()
    }

    func readIfPossible() {
        waking.readIfPossible()
        sleeping?.readIfPossible()
    }

    /// Makes the second reader with the first project of many.
    private func splitIfMany() {
        guard isStarted, sleeping == nil, places.count >= ReadSplit.minimumStreams else { return }
        let sleeper = makeSleeper()
        sleeping = sleeper
        sleeper.add(places)
        for reader in [waking, sleeper] {
            reader.onEntries = { [weak self] place in
                guard let self else { return }
                split.receivedEntry(place, now: loop.now)
                waking.readIfPossible()
            }
            reader.onLost = { [weak self] in self?.waking.recover($0) }
        }
        waking.mayRead = { [weak self] in self?.mayRead(.waking, $0, isWanted: $1) ?? true }
        sleeper.mayRead = { [weak self] in self?.mayRead(.sleeping, $0, isWanted: $1) ?? false }
        sleeper.start()
    }

    private func mayRead(_ reader: ReadSplit.Reader, _ place: Int, isWanted: Bool) -> Bool {
        let other = reader == .sleeping ? waking : sleeping
        return split.mayRead(
            reader,
            place,
            isWanted: isWanted,
            isRecovered: waking.isRecovered(place),
            isReadByOther: other?.isReading(place) ?? false,
            now: loop.now
        )
    }
}
