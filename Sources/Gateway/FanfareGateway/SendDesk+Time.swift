internal import FanfareCore
internal import NIOConcurrencyHelpers

/// What a desk does as time passes.
extension SendDesk {
    /// Between two closings of windows: windows whose ends are nearer are closed together.
    private static var windowTick: UInt64 { 1_000_000 }
    /// Between two reads of results.
    private static var tick: Duration { .milliseconds(2) }
    /// From the end of a request until its record is changed. An equal request waits for the change meanwhile; more changes in
    /// a call cost Redis less.
    private static var recordDelay: Duration { .milliseconds(20) }
    /// Between two looks at deadlines. Each look reads all requests that wait.
    private static var look: Duration { .milliseconds(50) }
    /// Looks between two signs of life: 400 ms.
    private static var looksOfALife: Int { 8 }
    /// After a command that Redis did not take.
    private static var repeatPause: Duration { .milliseconds(200) }
    /// Changes of a project that wait for Redis; of more, the oldest are dropped: their records end by themselves.
    private static var maximumChanges: Int { 100_000 }

    /// Keeps time and reads results until the task is cancelled. Time does not wait for Redis.
    func run() async {
        async let reading: Void = readResults()
        async let writing: Void = writeRecords()
        var asked: Set<String> = []
        var looks = 0
        while !Task.isCancelled {
            if looks.isMultiple(of: Self.looksOfALife) { Task { try? await records.showLife() } }
            looks += 1
            try? await Task.sleep(for: Self.look)
            handle(.passed(nowNs: nowNs()))
            inquireOld(&asked)
        }
        self.writing.call()
        self.reading.call()
        await reading
        await writing
    }

    /// Closes windows as they end, until none is open, and pushes their jobs.
    func closeWindows() async {
        while true {
            let pauseNs: UInt64? = state.withLockedValue { state in
                guard let next = state.window.nextNs else {
                    state.isWindowTimed = false
                    return nil
                }
                let now = nowNs()
                return max(Self.windowTick, next > now ? next - now : 0)
            }
            guard let pauseNs else { return }
            try? await Task.sleep(nanoseconds: pauseNs)
            let jobs = state.withLockedValue { state in
                let jobs = state.window.close(nowNs: nowNs()).map { (id: newJobID(), job: $0) }
                for (id, job) in jobs { state.enter(job, id: id) }
                return jobs
            }
            for (id, job) in jobs { Task { await push(job, id: id, nil) } }
        }
    }

    private func readResults() async {
        while !Task.isCancelled {
            let projects = state.withLockedValue { Array($0.table.projects) }
            await tail.forget { project in self.state.withLockedValue { !$0.table.isAwaited(project: project) } }
            if projects.isEmpty { await reading.wait() }
            var pause = Self.tick
            for project in projects {
                do { try await readResults(of: project) } catch { pause = Self.repeatPause }
            }
            try? await Task.sleep(for: pause)
        }
    }

    private func readResults(of project: String) async throws {
        try await tail.read(
            project,
            isAwaited: { job in
                self.state.withLockedValue { $0.table.isAwaited(project: project, job: job) }
            }
        ) { self.handle($0) }
    }

    /// Writes what became of requests. At the end, what is left is written.
    private func writeRecords() async {
        while !Task.isCancelled {
            if state.withLockedValue({ $0.changes.isEmpty }) { await writing.wait() }
            try? await Task.sleep(for: Self.recordDelay)
            if await !writeChanges() { try? await Task.sleep(for: Self.repeatPause) }
        }
        _ = await writeChanges()
    }

    private func writeChanges() async -> Bool {
        var areAllWritten = true
        for project in state.withLockedValue({ Array($0.changes.keys) }) {
            if await !writeChanges(project) { areAllWritten = false }
        }
        return areAllWritten
    }

    /// Writes what became of requests of a project. What Redis does not take is tried again.
    ///
    /// - Returns: whether Redis took it.
    private func writeChanges(_ project: String) async -> Bool {
        let changes = state.withLockedValue { $0.changes.removeValue(forKey: project) ?? [] }
        do {
            try await records.change(changes)
            state.withLockedValue { $0.ledger.confirm(changes) }
            return true
        } catch {
            state.withLockedValue { state in
                let all = changes + (state.changes[project] ?? [])
                state.changes[project] = all.suffix(Self.maximumChanges)
                state.ledger.confirm(all.dropLast(Self.maximumChanges))
            }
            return false
        }
    }
}
