internal import FanfareClient
internal import FanfareJSON

/// The current view of the fleet, shared by all browsers, and its last change.
///
/// Publishing never waits for a browser. A browser that missed a change gets the whole view.
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
    private var projects: [String: JSONValue] = [:]
    private var workers: JSONValue = .array([])
    private var nowMs: Int64 = 0
    private var trouble: String?
    private var change: [UInt8] = []
    private var history = FleetHistory()
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var nextWaiter = 0
    private var isClosed = false
    nonisolated let slots: StreamSlots

    init(maxBrowsers: Int) { slots = StreamSlots(limit: maxBrowsers) }

    // MARK: Publishing

    func publish(_ snapshot: FleetSnapshot, _ meter: FleetMeter) {
        let json = FleetJSON(meter)
        var changed: [JSONValue] = []
        for project in snapshot.projects {
            let value = JSONValue.object(json.object(project))
            if projects[project.id] != value { changed.append(value) }
            projects[project.id] = value
        }
        let gone = Set(projects.keys).subtracting(snapshot.projects.map(\.id)).sorted()
        for id in gone { projects[id] = nil }
        history.add(snapshot)
        let newWorkers = JSONValue.array(snapshot.workers.map { .object(json.object($0)) })
        nowMs = snapshot.nowMs
        var object: JSONObject = [
            "now_ms": .number(JSONNumber(nowMs)), "projects": .array(changed), "gone": .array(gone.map { .string($0) }),
            "samples": .object(history.latest),
        ]
        if newWorkers != workers { object["workers"] = newWorkers }
        workers = newWorkers
        // After an outage every browser gets the whole view.
        change = trouble == nil ? JSONValue.object(object).jsonBytes : []
        trouble = nil
        advance()
    }

    func publish(trouble text: String) {
        trouble = text
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

    /// Waits for the next version; nil when the dashboard ends or the task is cancelled.
    ///
    /// - Parameter seen: the last version received; 0 for none.
    func next(after seen: Int) async -> Update? {
        while version <= seen || version == 0 {
            if isClosed || Task.isCancelled { return nil }
            await wait()
        }
        guard !isClosed, !Task.isCancelled else { return nil }
        if let trouble {
            let json = JSONValue.object(["message": .string(trouble)]).jsonBytes
            return Update(version: version, event: "trouble", json: json)
        }
        if seen == version - 1, seen > 0, !change.isEmpty {
            return Update(version: version, event: "change", json: change)
        }
        return Update(version: version, event: "fleet", json: JSONValue.object(whole).jsonBytes)
    }

    /// The current view; nil before the first one and while Redis does not answer.
    func current() -> (JSONObject?, trouble: String?) { (version > 0 && trouble == nil ? whole : nil, trouble) }

    private var whole: JSONObject {
        [
            "now_ms": .number(JSONNumber(nowMs)),
            "projects": .array(projects.sorted { $0.key < $1.key }.map(\.value)),
            "workers": workers,
            "history": .object(history.all),
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
