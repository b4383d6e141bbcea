internal import Foundation

/// A private redis-server: a unix socket in a temporary folder, without persistence.
///
/// Its parent is a shell that reads a pipe which only this process holds. When this process ends, even by SIGKILL, the
/// shell stops the server and removes the folder.
final class DemoRedis {
    let folder: String
    private let process = Process()
    private let lifeline = Pipe()

    /// Ctrl-C signals the whole process group. The shell ignores it, to clean up afterwards; the server has its own
    /// session, because the worker needs it to drain.
    private static let script = """
        trap '' INT TERM HUP
        exec >/dev/null 2>&1
        setsid redis-server --port 0 --unixsocket "$1/redis.sock" --unixsocketperm 700 --save '' --appendonly no \
            --dir "$1" --logfile "$1/redis.log" &
        server=$!
        read -r _
        kill -KILL "$server"
        wait "$server"
        rm -rf "$1"
        """

    init() throws {
        guard Self.isInstalled else {
            throw Outcome.unavailable.because("redis-server is not installed: apt-get install redis-server")
        }
        // A socket's path has at most 107 bytes. mkdtemp makes a folder that only this user can enter.
        let base = ProcessInfo.processInfo.environment["TMPDIR"].flatMap {
            $0.utf8.count < 60 && $0.hasPrefix("/") ? $0 : nil
        }
        var template = Array("\(base ?? "/tmp")/fanfare-demo-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer {
            $0.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else {
            throw Outcome.failed.because("cannot make a temporary folder: \(String(cString: strerror(errno)))")
        }
        folder = made
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, "sh", folder]
        process.standardInput = lifeline
        do {
            try Self.withSignalsUnblocked { try process.run() }
        } catch {
            rmdir(folder)
            throw Outcome.failed.because("cannot start /bin/sh: \(error)")
        }
    }

    var url: String { "unix://\(folder)/redis.sock" }

    /// Stops the server and removes the folder.
    func stop() {
        try? lifeline.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Runs the body with no signal blocked. A child inherits the mask of the starting thread, and Swift's task threads
    /// block every signal: without SIGCHLD the shell would wait for its server forever.
    private static func withSignalsUnblocked(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var old = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &old)
        defer { pthread_sigmask(SIG_SETMASK, &old, nil) }
        try body()
    }

    private static var isInstalled: Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/redis-server", X_OK) == 0 }
    }
}
