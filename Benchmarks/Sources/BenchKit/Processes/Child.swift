internal import CChild
internal import Foundation

/// A process of a benchmark. It cannot outlive the harness: the kernel kills it if the harness dies.
final class Child {
    struct Ended {
        let status: Int
        let userNs: Int
        let systemNs: Int
        let peakKilobytes: Int
        var cpuNs: Int { userNs + systemNs }
    }

    let name: String
    private let process: pid_t
    private let workspace: Workspace
    private var ended: Ended?

    var outputFile: String { "\(name).out" }
    var logFile: String { "\(name).log" }

    /// - Parameter environment: complete but for a path and a locale; nothing is inherited.
    init(
        _ name: String,
        _ path: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        in workspace: Workspace
    ) throws {
        self.name = name
        self.workspace = workspace
        let out = try Self.create(workspace.file("\(name).out"))
        defer { close(out) }
        let log = try Self.create(workspace.file("\(name).log"))
        defer { close(log) }
        let variables = Self.environment.merging(environment) { _, new in new }.map { "\($0)=\($1)" }
        let child = Self.withStrings([path] + arguments) { arguments in
            Self.withStrings(variables) { cchild_spawn(path, arguments, $0, out, log) }
        }
        guard child > 0 else { throw BenchError.unavailable("cannot run \(path): \(String(cString: strerror(errno)))") }
        process = child
    }

    deinit { assert(ended != nil, "stopped or waited for first") }

    /// CPU time so far, of all threads, in nanoseconds.
    func cpuNs() throws -> Int {
        let used = cchild_cpu_ns(process)
        guard used >= 0 else { throw BenchError.failed("\(name) is gone: \(workspace.tail(logFile))") }
        return used
    }

    /// The most memory it has held at once since it was started.
    func peakMemoryMegabytes() throws -> Double {
        guard let peak = Self.peakMemoryMegabytes(of: process) else {
            throw BenchError.failed("\(name) is gone: \(workspace.tail(logFile))")
        }
        return peak
    }

    /// Asked of a running process, because what the kernel says of a child that ended counts its parent's memory at the
    /// time of the fork too.
    static func peakMemoryMegabytes(of process: pid_t) -> Double? {
        let status = FileManager.default.contents(atPath: "/proc/\(process)/status") ?? Data()
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Double($0) }.map { $0 / 1_024 }
    }

    /// See ``CurlLibrary/check(_:named:)``.
    func checkLibcurl() throws { try CurlLibrary.check(process, named: name) }

    func throwIfEnded() throws {
        guard let ended = reap(waiting: false) else { return }
        throw BenchError.failed("\(name) ended with status \(ended.status): \(workspace.tail(logFile))")
    }

    /// Waits for it to end by itself; a status other than 0 is an error.
    @discardableResult
    func finish(seconds: Double) throws -> Ended {
        do {
            let ended = try Patience.wait(for: name, seconds: seconds) { reap(waiting: false) }
            guard ended.status == 0 else {
                let said = workspace.tail(logFile) + workspace.tail(outputFile)
                throw BenchError.failed("\(name) ended with status \(ended.status): \(said)")
            }
            return ended
        } catch {
            stop(seconds: 0)
            throw error
        }
    }

    /// Asks it to end, and ends it when it does not. Safe to call again.
    @discardableResult
    func stop(seconds: Double = 5) -> Ended? {
        if let ended = reap(waiting: false) { return ended }
        kill(process, SIGTERM)
        let end = Patience.now() + seconds
        while Patience.now() < end {
            if let ended = reap(waiting: false) { return ended }
            usleep(5_000)
        }
        kill(process, SIGKILL)
        return reap(waiting: true)
    }

    private func reap(waiting: Bool) -> Ended? {
        if let ended { return ended }
        var status: Int32 = 0
        var user = 0
        var system = 0
        var peak = 0
        let answer = cchild_reap(process, waiting ? 1 : 0, &status, &user, &system, &peak)
        guard answer != 0 else { return nil }
        ended = Ended(status: answer > 0 ? Int(status) : -1, userNs: user, systemNs: system, peakKilobytes: peak)
        return ended
    }

    /// Settings of whoever runs the benchmark must not reach what is measured.
    private static let environment = [
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
    ]

    private static func create(_ path: String) throws -> Int32 {
        let fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard fd >= 0 else { throw BenchError.failed("cannot write \(path)") }
        return fd
    }

    private static func withStrings<Answer>(
        _ strings: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Answer
    ) -> Answer {
        let copies: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("the array holds at least its end mark") }
            return body(base)
        }
    }
}
