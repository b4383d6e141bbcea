internal import EventLoop
internal import FanfareConfiguration
internal import FoundationEssentials
internal import Glibc

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
                for action in supervisor.handle(event, nowMs: Self.nowMs) {
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

    private static var nowMs: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Whether something listens at an address of this machine.
    static func accepts(_ address: ListenAddress) -> Bool {
        switch address {
        case .unix(let path):
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
            return connects(AF_UNIX, &name)
        case .tcp(let host, let port):
            guard host.contains(":") else {
                var name = sockaddr_in()
                name.sin_family = sa_family_t(AF_INET)
                name.sin_port = in_port_t(port).bigEndian
                // A host name, or every address: this machine is reached by its loopback address.
                if inet_pton(AF_INET, host, &name.sin_addr) != 1 || name.sin_addr.s_addr == 0 {
                    inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
                }
                return connects(AF_INET, &name)
            }
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = in_port_t(port).bigEndian
            inet_pton(AF_INET6, host == "::" ? "::1" : host, &name.sin6_addr)
            return connects(AF_INET6, &name)
        }
    }

    private static func connects<Name>(_ family: Int32, _ name: inout Name) -> Bool {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<Name>.size)) == 0
            }
        }
    }
}
