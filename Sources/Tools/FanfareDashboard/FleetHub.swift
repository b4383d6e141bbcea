internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON

/// The current view of the fleet, shared by all browsers, and its last change.
///
/// Publishing never waits for a browser. A browser that missed a change gets the whole view. A browser follows either the
/// overview, with a row for each project, or one project with its jobs.
actor FleetHub {
    struct Update: Sendable {
        var version: Int
        /// `fleet` with the whole view, `change` with the difference to the previous version, or `trouble` while Redis
        /// does not answer.
        var event: String
        var json: [UInt8]

        /// A server-sent event with its JSON on one `data` line.
        var bytes: [UInt8] { Array("id: \(version)\nevent: \(event)\ndata: ".utf8) + json + Array("\n\n".utf8) }
    }

    private(set) var version = 0
    private var projects: [String: JSONObject] = [:]
    private var rows: [String: JSONObject] = [:]
    private var workers: [JSONObject] = []
    private var workerRows: JSONValue = .array([])
    private var nowMs: Int64 = 0
    /// The last snapshot; nil before the first one.
    private var snapshot: FleetSnapshot?
    private var readError: String?
    /// The last change of the overview; empty if there is none to send.
    private var change: [UInt8] = []
    private var isChange = false
    private var history = FleetHistory()
    private var sparklines = Sparklines()
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var nextWaiter = 0
    private var isClosed = false
    nonisolated let slots: StreamSlots

    init(maximumBrowsers: Int) { slots = StreamSlots(limit: maximumBrowsers) }

    // MARK: Publishing

    func publish(_ snapshot: FleetSnapshot, _ meter: FleetMeter) {
        let json = FleetJSON(meter)
        var changed: [JSONValue] = []
        let gone = Set(projects.keys).subtracting(snapshot.projects.map(\.id)).sorted()
        for id in gone { (projects[id], rows[id]) = (nil, nil) }
        for project in snapshot.projects {
            let whole = json.object(project)
            let row = FleetRows.row(whole)
            if rows[project.id] != row { changed.append(.object(row)) }
            (projects[project.id], rows[project.id]) = (whole, row)
        }
        self.snapshot = snapshot
        history.add(snapshot)
        let isStep = sparklines.add(snapshot)
        workers = snapshot.workers.map { json.object($0) }
        let newWorkers = JSONValue.array(snapshot.workers.map { .object(FleetRows.row($0, json)) })
        nowMs = snapshot.nowMs
        var object: JSONObject = [
            "now_ms": .number(JSONNumber(nowMs)), "projects": .array(changed), "gone": .array(gone.map { .string($0) }),
        ]
        if isStep { object["spark"] = .object(sparklines.latest) }
        if newWorkers != workerRows { object["workers"] = newWorkers }
        workerRows = newWorkers
        // After an outage every browser gets the whole view.
        isChange = readError == nil
        change = isChange ? JSONValue.object(object).jsonBytes : []
        readError = nil
        advance()
    }

    func publish(readError text: String) {
        readError = text
        advance()
    }

    func close() {
        isClosed = true
        advance()
    }

    private func advance() {
        version += 1
        let ready = waiters
        waiters = [:]
        for waiter in ready.values { waiter.resume() }
    }

    // MARK: Reading

    /// Server-sent events until the browser disconnects or the dashboard ends.
    ///
    /// - Parameters:
    ///   - project: the project to follow; nil for the overview.
    ///   - slot: held until the end.
    nonisolated func events(of project: String?, for slot: StreamSlot) -> WebReply.Body {
        { write in
            defer { withExtendedLifetime(slot) {} }
            // The browser reconnects after 2 s.
            try await write(Array("retry: 2000\n\n".utf8))
            var seen = 0
            while let update = await self.next(after: seen, of: project) {
                seen = update.version
                try await write(update.bytes)
            }
        }
    }

    /// Waits for the next version; nil when the dashboard ends or the task is cancelled.
    ///
    /// - Parameters:
    ///   - seen: the last version received; 0 for none.
    ///   - project: the project to follow; nil for the overview.
    func next(after seen: Int, of project: String? = nil) async -> Update? {
        while version <= seen || version == 0 {
            if isClosed || Task.isCancelled { return nil }
            await wait()
        }
        guard !isClosed, !Task.isCancelled else { return nil }
        if let readError {
            let json = JSONValue.object(["message": .string(readError)]).jsonBytes
            return Update(version: version, event: "trouble", json: json)
        }
        let isNext = seen == version - 1 && seen > 0 && isChange
        if let project {
            let object = isNext ? detailChange(of: project) : detail(of: project)
            return Update(
                version: version,
                event: isNext ? "change" : "fleet",
                json: JSONValue.object(object).jsonBytes
            )
        }
        if isNext { return Update(version: version, event: "change", json: change) }
        return Update(version: version, event: "fleet", json: JSONValue.object(overview).jsonBytes)
    }

    /// The current view; nil before the first one and while Redis does not answer.
    func current() -> (JSONObject?, readError: String?) { (version > 0 && readError == nil ? whole : nil, readError) }

    /// The current snapshot; nil before the first one and while Redis does not answer.
    func currentSnapshot() -> (FleetSnapshot?, readError: String?) { (readError == nil ? snapshot : nil, readError) }

    /// Everything, for programs.
    private var whole: JSONObject {
        [
            "now_ms": .number(JSONNumber(nowMs)),
            "projects": .array(projects.sorted { $0.key < $1.key }.map { .object($0.value) }),
            "workers": .array(workers.map { .object($0) }),
            "history": .object(history.all),
        ]
    }

    private var overview: JSONObject {
        [
            "now_ms": .number(JSONNumber(nowMs)),
            "projects": .array(rows.sorted { $0.key < $1.key }.map { .object($0.value) }),
            "workers": workerRows, "spark": .object(sparklines.all),
        ]
    }

    /// One project with its jobs, its rates of the last five minutes, and its workers.
    private func detail(of id: String) -> JSONObject {
        var object = facts(of: id)
        object["history"] = .object(JSONObject([.init(key: id, value: history.all(of: id))]))
        return object
    }

    private func detailChange(of id: String) -> JSONObject {
        var object = facts(of: id)
        object["gone"] = .array(projects[id] == nil ? [.string(id)] : [])
        let sample = history.latest(of: id)
        object["samples"] = .object(JSONObject(sample.map { [.init(key: id, value: $0)] } ?? []))
        return object
    }

    private func facts(of id: String) -> JSONObject {
        let serving = workers.filter { worker in
            worker["projects"]?.array?.contains { $0.object?["id"]?.string == id } ?? false
        }
        return [
            "now_ms": .number(JSONNumber(nowMs)),
            "projects": .array(projects[id].map { [.object($0)] } ?? []),
            "workers": .array(serving.map { .object($0) }),
        ]
    }

    private func wait() async {
        let number = nextWaiter
        nextWaiter += 1
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if isClosed || Task.isCancelled { return continuation.resume() }
                waiters[number] = continuation
            }
        } onCancel: {
            Task { await self.wake(number) }
        }
    }

    private func wake(_ number: Int) { waiters.removeValue(forKey: number)?.resume() }
}
