internal import FoundationEssentials
internal import Glibc

/// A private redis-server: a unix socket in a temporary folder, without persistence.
///
/// Its parent is a shell that reads a pipe which only this process holds. When this process ends, even by SIGKILL, the
/// shell stops the server and removes the folder.
final class DemoRedis {
    let folder: String
    /// The shell's process, and the end of its pipe that keeps it waiting.
    private let process: pid_t
    private let lifeline: Int32

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
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            let reason = String(cString: strerror(errno))
            rmdir(made)
            throw Outcome.failed.because("cannot make a pipe: \(reason)")
        }
        defer { close(ends[0]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        lifeline = ends[1]
        var started: pid_t = 0
        let code = Self.spawn(["/bin/sh", "-c", Self.script, "sh", made], input: ends[0], &started)
        process = started
        guard code == 0 else {
            close(lifeline)
            rmdir(made)
            throw Outcome.failed.because("cannot start /bin/sh: \(String(cString: strerror(code)))")
        }
    }

    var url: String { "unix://\(folder)/redis.sock" }

    /// Stops the server and removes the folder.
    func stop() {
        close(lifeline)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    /// Starts a program with no signal blocked. A child inherits the mask of the starting thread, and Swift's task
    /// threads block every signal: without SIGCHLD the shell would wait for its server forever.
    ///
    /// - Returns: an error number; 0 if the program runs.
    private static func spawn(_ words: [String], input: Int32, _ process: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        return posix_spawn(&process, words[0], &actions, &attributes, &arguments, environ)
    }

    private static var isInstalled: Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/redis-server", X_OK) == 0 }
    }
}
