internal import EventLoop
internal import FanfareConfiguration
internal import FanfareWorker
internal import SocketTransport

/// Performs what ``Supervisor`` decides: starts and ends processes, and finds out which are ready.
final class UpRun {
    private let programs: [Supervisor.Part: [String]]
    private let probes: [Supervisor.Part: ListenAddress]
    private let redisLog: String
    private var supervisor: Supervisor
    private var processes: [Supervisor.Part: ChildProcess] = [:]
    private var isReady: Set<Supervisor.Part> = []

    /// - Parameters:
    ///   - programs: program and arguments of each part.
    ///   - probes: where a part listens when it is ready; one without is ready at once.
    init(
        programs: [Supervisor.Part: [String]],
        supervisor: Supervisor,
        probes: [Supervisor.Part: ListenAddress],
        redisLog: String
    ) {
        self.programs = programs
        self.supervisor = supervisor
        self.probes = probes
        self.redisLog = redisLog
    }

    /// Runs until SIGTERM or SIGINT, or until a part cannot be started.
    ///
    /// - Parameter announce: called once, when every part is ready.
    /// - Returns: the exit code.
    func untilStopped(announce: () -> Void) async throws -> Int32 {
        let isStopping = Locked(false)
        let signals = StopSignals { isStopping.withLock { $0 = true } }
        defer { signals.cancel() }
        var isToldToStop = false
        while true {
            var events: [Supervisor.Event] = [.tick]
            for (part, process) in processes {
                if let code = process.poll() {
                    processes[part] = nil
                    isReady.remove(part)
                    events.append(.ended(part, code: code))
                } else if !isReady.contains(part), probes[part].map(Self.accepts) ?? true {
                    isReady.insert(part)
                    events.append(.ready(part))
                }
            }
            if !isToldToStop, isStopping.withLock({ $0 }) {
                isToldToStop = true
                events.append(.stop)
            }
            for event in events {
                for action in supervisor.handle(event, nowMs: SystemClock.bootMs) {
                    if case .finish(let code) = action { return code }
                    try perform(action, announce)
                }
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    private func perform(_ action: Supervisor.Action, _ announce: () -> Void) throws {
        switch action {
        case .start(let part): processes[part] = try ChildProcess(programs[part] ?? [], isQuiet: part == .redis)
        case .terminate(let part): processes[part]?.terminate()
        case .kill(let part): processes[part]?.kill()
        case .announce: announce()
        case .note(let part, let text):
            Console.error("fanfare up: the \(part.rawValue) \(text)")
            if part == .redis { Console.error("fanfare up: the log of redis-server is \(redisLog)") }
        case .finish: break
        }
    }

    /// Whether something listens at an address of this machine.
    static func accepts(_ address: ListenAddress) -> Bool {
        switch address {
        case .unix(let path): return SocketAddress.unix(path)?.isServed == true
        case .tcp(let host, let port):
            // A host name, or every address: this machine is reached by its loopback address.
            let every = ["0.0.0.0": "127.0.0.1", "::": "::1"]
            let port = UInt16(clamping: port)
            let address = SocketAddress.numeric(every[host] ?? host, port: port)
            return (address ?? SocketAddress.numeric("127.0.0.1", port: port))?.isServed == true
        }
    }
}
