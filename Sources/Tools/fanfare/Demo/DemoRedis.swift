internal import ArgumentParser
internal import Foundation
internal import Glibc

/// A redis-server for the demo alone: a unix socket in a folder of its own, nothing written to disk.
///
/// A small shell stands between: it waits on a pipe that only this process holds, so when this process ends, however it
/// ends, the server is stopped and the folder removed.
final class DemoRedis {
    let folder: String
    private let process = Process()
    private let lifeline = Pipe()

    /// Ctrl-C reaches the whole group: the shell must outlive it to clean up, and the server must last until the worker
    /// has drained, so it gets a session of its own.
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
        // A socket's path must be short, and a folder that others may enter would let them in.
        let base = ProcessInfo.processInfo.environment["TMPDIR"].flatMap {
            $0.utf8.count < 60 && $0.hasPrefix("/") ? $0 : nil
        }
        var template = Array("\(base ?? "/tmp")/fanfare-demo-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer {
            $0.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else { throw Outcome.failed.because("no temporary folder: \(String(cString: strerror(errno)))") }
        folder = made
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, "sh", folder]
        process.standardInput = lifeline
        do {
            try Self.withSignalsUnblocked { try process.run() }
        } catch {
            rmdir(folder)
            throw Outcome.failed.because("/bin/sh does not start: \(error)")
        }
    }

    var url: String { "unix://\(folder)/redis.sock" }

    /// Stops the server and removes the folder.
    func stop() {
        try? lifeline.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// A child inherits the mask of the thread that starts it, and the threads that run tasks block every signal: the
    /// shell would wait forever for the end of the server.
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
