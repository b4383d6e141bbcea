internal import Dispatch
internal import EventLoop
internal import FanfareClient
internal import FanfareRedis
internal import FoundationEssentials
internal import Glibc
internal import StreamWire

/// `fanfare top` on a terminal: reads the fleet each second, obeys keys and draws ``TopScreen``.
struct TopLive {
    let client: RedisClient
    let prefix: String
    let reader: FleetReader<RedisClient>

    private enum Event: Sendable {
        case read(FleetSnapshot, [TopScreen.Failure])
        /// An error of a read, which is tried again.
        case away(String)
        case keys([TopKey])
        case resized
        /// A second is over.
        case tick
        /// The outcome of a change.
        case changed(String)
        case stop
    }

    /// Returns when a key or a signal ends it.
    func run(isReadOnly: Bool, showsIdle: Bool) async throws {
        // Errors before the first picture end the command, as every command without Redis does.
        let first = try await reader.read()
        let (events, input) = AsyncStream.makeStream(of: Event.self)
        input.yield(.read(first, []))
        let terminal = TerminalScreen()
        defer { terminal.restore() }
        let signals = StopSignals { input.yield(.stop) }
        let resizes = TerminalScreen.watchSize { input.yield(.resized) }
        let keys = terminal.hasKeys ? TerminalScreen.watchKeys { input.yield($0.map { .keys($0) } ?? .stop) } : nil
        // The project whose view is open: set by keys, used by the reads.
        let opened = Locked<String?>(nil)
        let reading = Task { await read(opened, input) }
        let ticking = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(1))
                input.yield(.tick)
            }
        }
        defer {
            reading.cancel()
            ticking.cancel()
            keys?.cancel()
            resizes.cancel()
            signals.cancel()
        }
        var picture = Picture(canAct: terminal.hasKeys && !isReadOnly)
        picture.screen.state.showsIdle = showsIdle
        for await event in events {
            guard step(event, &picture, opened, input) else { break }
            terminal.draw(picture.screen)
        }
        // A change that was confirmed is not lost by leaving.
        for change in picture.changes { await change.value }
    }

    /// What is drawn.
    private struct Picture {
        /// Without an answer for longer, the screen says so.
        private static let patience = 3.0

        var screen: TopScreen
        /// Changes that were confirmed.
        var changes: [Task<Void, Never>] = []
        private var meter = FleetMeter()
        private var lastRead = Date.now
        private var error = ""

        init(canAct: Bool) {
            screen = TopScreen(snapshot: FleetSnapshot(projects: []), meter: meter)
            screen.state.canAct = canAct
        }

        mutating func show(_ snapshot: FleetSnapshot, _ failures: [TopScreen.Failure]) {
            meter.add(snapshot)
            lastRead = .now
            error = ""
            screen.snapshot = snapshot
            screen.meter = meter
            screen.failures = failures
            screen.readError = nil
        }

        mutating func showReadError(_ newError: String? = nil) {
            if let newError { error = newError }
            guard !error.isEmpty || -lastRead.timeIntervalSinceNow > Self.patience else { return }
            let time = ClockText.time(Int64(lastRead.timeIntervalSince1970 * 1_000))
            let length = PaceText.duration((-lastRead.timeIntervalSinceNow).rounded())
            screen.readError = "Redis does not answer since \(time) (\(length)); trying again. \(error)"
        }
    }

    /// - Returns: false to quit.
    private func step(
        _ event: Event,
        _ picture: inout Picture,
        _ opened: Locked<String?>,
        _ input: AsyncStream<Event>.Continuation
    ) -> Bool {
        switch event {
        case .read(let snapshot, let failures): picture.show(snapshot, failures)
        case .away(let error): picture.showReadError(error)
        case .changed(let outcome): picture.screen.state.notice = outcome
        case .tick: picture.showReadError()
        case .resized: break
        case .stop: return false
        case .keys(let keys):
            for key in keys {
                let rows = picture.screen.rows
                switch picture.screen.state.press(key, rows: rows, page: TerminalScreen.size.rows / 2) {
                case .quit: return false
                case .perform(let change):
                    picture.changes.append(Task { _ = input.yield(.changed(await perform(change))) })
                case nil: break
                }
            }
            opened.withLock { $0 = picture.screen.state.opened }
        }
        return true
    }

    /// Reads the fleet each second until the task is cancelled.
    private func read(_ opened: Locked<String?>, _ input: AsyncStream<Event>.Continuation) async {
        var failures: [TopScreen.Failure] = []
        var project: String?
        var reads = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            do {
                let snapshot = try await reader.read()
                reads += 1
                // Samples are written every ten seconds.
                let current = opened.withLock { $0 }
                if current != project || reads.isMultiple(of: 5) {
                    project = current
                    failures = try await self.failures(of: project)
                }
                input.yield(.read(snapshot, failures))
            } catch {
                input.yield(.away("\(error)"))
            }
        }
    }

    /// Failures of the last hour by error, most first.
    private func failures(of project: String?) async throws -> [TopScreen.Failure] {
        guard let project else { return [] }
        let history = try await FanfareOperator(redis: client, project: project, prefix: prefix).history(
            spanMs: 3_600_000
        )
        let counts = history.samples.reduce(into: [:]) { $0.merge($1.errors) { $0 + $1 } }
        return counts.filter { $0.value > 0 }.map { TopScreen.Failure(error: $0.key, count: $0.value) }
            .sorted { ($1.count, $0.error) < ($0.count, $1.error) }
    }

    /// Carries out a change and returns its outcome as a sentence.
    private func perform(_ change: TopState.Change) async -> String {
        let project = FanfareOperator(
            redis: client,
            project: change.row.project,
            prefix: prefix,
            actor: OperatorName.current
        )
        let done = change.verb == .pause ? "paused" : "resumed"
        do {
            switch change.row {
            case .project:
                if change.verb == .pause {
                    try await project.pauseProject(reason: change.reason)
                } else {
                    try await project.resumeProject(reason: change.reason)
                }
                return "\(change.row.name): \(done)"
            case .job(let id, _):
                let reply =
                    change.verb == .pause
                    ? try await project.pause(id, reason: change.reason)
                    : try await project.resume(id, reason: change.reason)
                switch reply {
                case .ok: return "\(change.row.name): \(done)"
                case .over(let state): return "\(change.row.name): it is over or ending (\(state))"
                case .missing: return "\(change.row.name): not there any more"
                case .parked: return "\(change.row.name): parked; `fanfare dead ls` and `dead replay` resume it"
                }
            }
        } catch {
            return "\(change.row.name): not \(done): \(error)"
        }
    }
}
