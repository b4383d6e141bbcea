import EventLoop
import FanfareMetrics
import Foundation
import TestSupport
import Testing

@testable import FanfareWorker

/// A service manager's end of the socket.
private final class Manager {
    private let folder: TemporaryFolder
    private let descriptor: Int32
    let name: String

    init(abstract: Bool = false) throws {
        folder = try TemporaryFolder()
        name = abstract ? "@fanfare-\(UInt64.random(in: 0 ... .max))" : folder.file("notify")
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if abstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (abstract ? 0 : 1))
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw TestFailure("bind: errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// The next message; an error when none comes.
    func next() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw TestFailure("the service says nothing: errno \(errno)") }
        return String(decoding: buffer[0..<count], as: UTF8.self)
    }

    /// The first message that contains the text.
    func next(with text: String) throws -> String {
        for _ in 0..<1_000 {
            let message = try next()
            if message.contains(text) { return message }
        }
        throw TestFailure("the service never says \(text)")
    }
}

@Suite struct ServiceNotifierTests {
    @Test(arguments: [false, true])
    func messagesFollowTheManagersProtocol(abstract: Bool) throws {
        let manager = try Manager(abstract: abstract)
        let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": manager.name]))
        notifier.ready(status: "up\nWATCHDOG=trigger")
        #expect(try manager.next() == "READY=1\nSTATUS=up WATCHDOG=trigger")
        notifier.alive()
        #expect(try manager.next() == "WATCHDOG=1")
        notifier.extend(milliseconds: 30_000, status: "waiting")
        #expect(try manager.next() == "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=waiting")
        notifier.stopping(status: "draining")
        #expect(try manager.next() == "STOPPING=1\nSTATUS=draining")
        #expect(notifier.watchdogNs == nil)
    }

    @Test func missingManagerIsIgnored() throws {
        #expect(ServiceNotifier(environment: [:]) == nil)
        for path in ["", "relative", "/", "@", "/" + String(repeating: "a", count: 200)] {
            #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": path]) == nil)
        }
        let gone = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": "/tmp/nobody-listens-here"]))
        gone.alive()
    }

    @Test func watchdogBelongsToTheProcessThatItNames() {
        func watchdog(_ pid: String?) -> UInt64? {
            var environment = ["NOTIFY_SOCKET": "/tmp/x", "WATCHDOG_USEC": "5000000"]
            environment["WATCHDOG_PID"] = pid
            return ServiceNotifier(environment: environment)?.watchdogNs
        }
        #expect(watchdog(nil) == 5_000_000_000)
        #expect(watchdog("\(getpid())") == 5_000_000_000)
        #expect(watchdog("1") == nil)
    }

    /// The messages of a worker's life, from start to drain.
    @Test func monitorReportsTheWorkersLifeToTheManager() throws {
        let manager = try Manager()
        let notifier = ServiceNotifier(
            environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000000"]
        )
        let status = WorkerStatus()
        let registry = MetricRegistry()
        let now = Locked(WorkerStatus.Snapshot())
        let thread = try LoopThread(name: "monitor-test") { loop in
            let monitor = Monitor(
                loop: loop,
                watch: WorkerWatch(registry: registry, status: status, notifier: notifier)
            )
            monitor.snapshot = { now.withLock { $0 } }
            monitor.start()
            func keep() {
                // Holds the monitor for as long as the test wants the loop.
                withExtendedLifetime(monitor) {
                    if now.withLock({ $0.redis == "over" }) { return loop.stop() }
                    loop.schedule(afterMilliseconds: 20) { keep() }
                }
            }
            keep()
        }
        #expect(try manager.next(with: "STATUS").hasPrefix("EXTEND_TIMEOUT_USEC="))
        now.withLock {
            $0.isConnected = true
            $0.projects = [WorkerStatus.Project(id: "demo", canSend: true, holdsLease: true, state: "ready")]
        }
        #expect(try manager.next(with: "READY=1") == "READY=1\nSTATUS=demo ready")
        for _ in 0..<3 { #expect(try manager.next(with: "WATCHDOG") == "WATCHDOG=1") }
        #expect(status.current.isReady && status.silentMs < 30_000)
        #expect(PrometheusText.render(registry).contains("fanfare_redis_connected 1\n"))
        now.withLock { $0.isDraining = true }
        #expect(try manager.next(with: "STOPPING") == "STOPPING=1\nSTATUS=draining")
        _ = try manager.next(with: "WATCHDOG")
        now.withLock { $0.redis = "over" }
        thread.join()
        #expect(!status.current.isReady)
    }

    @Test func workerIsReadyWhenOneProjectCanSend() {
        var snapshot = WorkerStatus.Snapshot()
        #expect(!snapshot.isReady && Monitor.sentence(snapshot) == "Redis: starting")
        snapshot.isConnected = true
        snapshot.projects = [.init(id: "a", canSend: false, holdsLease: true, state: "credentials: invalid_grant")]
        #expect(!snapshot.isReady && Monitor.sentence(snapshot) == "a credentials: invalid_grant")
        snapshot.projects.append(.init(id: "b", canSend: true, holdsLease: false, state: "no lease"))
        #expect(!snapshot.isReady, "the project with a lease cannot send, and the other one has no lease")
        snapshot.projects.append(.init(id: "c", canSend: true, holdsLease: true, state: "ready"))
        #expect(snapshot.isReady)
        snapshot.projects += (0..<8).map { .init(id: "p\($0)", canSend: false, holdsLease: true, state: "-") }
        #expect(Monitor.sentence(snapshot).hasSuffix(", and 3 more"))
        snapshot.isDraining = true
        #expect(!snapshot.isReady && Monitor.sentence(snapshot) == "draining")
    }
}
