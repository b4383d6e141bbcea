internal import Glibc

/// A program that ends with this process, even if this process is killed.
///
/// Its parent is a shell that reads a pipe which only this process holds: when that ends, the shell terminates the program.
/// Both have a session of their own, so that Ctrl-C reaches this process only, which ends the programs in order.
final class ChildProcess {
    private let process: pid_t
    private let lifeline: Int32
    private var ended: Int32?

    /// The program's exit code is the shell's. `wait` also returns when the shell gets a signal, hence the loop.
    private static let script = """
        exec 3<&0
        removed=$1
        shift
        "$@" 3<&- </dev/null &
        child=$!
        trap 'kill -TERM "$child" 2>/dev/null' TERM INT HUP
        {
            read -r _ <&3
            kill -TERM "$child"
            trap 'kill "$!"; exit' TERM
            sleep 30 &
            wait
            kill -KILL "$child"
        } 2>/dev/null &
        watch=$!
        code=0
        while :; do
            wait "$child"
            code=$?
            kill -0 "$child" 2>/dev/null || break
        done
        kill "$watch" 2>/dev/null
        [ -z "$removed" ] || rm -rf "$removed"
        exit "$code"
        """

    /// - Parameters:
    ///   - words: the program and its arguments; it is looked up in `PATH`.
    ///   - isQuiet: whether its output is dropped.
    ///   - removed: a folder that the shell removes once the program has ended; nil for none.
    init(_ words: [String], isQuiet: Bool = false, removing removed: String? = nil) throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw Outcome.failed.because("cannot make a pipe: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[0]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        lifeline = ends[1]
        var started: pid_t = 0
        let shell = ["/bin/sh", "-c", Self.script, "sh", removed ?? ""] + words
        let code = Self.spawn(shell, input: ends[0], isQuiet, &started)
        process = started
        guard code == 0 else {
            close(lifeline)
            throw Outcome.failed.because("cannot start /bin/sh: \(String(cString: strerror(code)))")
        }
    }

    /// The exit code, or 128 and the number of the signal that killed it; nil while it runs.
    func poll() -> Int32? {
        if let ended { return ended }
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return nil }
        return end(status)
    }

    func terminate() {
        if ended == nil { Glibc.kill(process, SIGTERM) }
    }

    /// Kills the program and its shell.
    func kill() {
        // Both are in the shell's session, and a non-interactive shell makes no process group of its own.
        if ended == nil { Glibc.kill(-process, SIGKILL) }
    }

    /// Terminates the program and waits for its end.
    func stop() {
        guard ended == nil else { return }
        terminate()
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        _ = end(status)
    }

    private func end(_ status: Int32) -> Int32 {
        close(lifeline)
        let signal = status & 0x7f
        let code = signal == 0 ? (status >> 8) & 0xff : 128 + signal
        ended = code
        return code
    }

    /// `POSIX_SPAWN_SETSID` of `spawn.h`, which the C library shows to GNU sources only.
    private static let newSession: Int16 = 0x80

    /// Starts a program in a session of its own with no signal blocked. A child inherits the mask of the starting thread,
    /// and Swift's task threads block every signal: without SIGCHLD the shell would wait for its program forever.
    ///
    /// - Returns: an error number; 0 if the program runs.
    private static func spawn(_ words: [String], input: Int32, _ isQuiet: Bool, _ process: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        if isQuiet {
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        } else {
            // Standard output is for what a command was asked for.
            posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | newSession)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        return posix_spawn(&process, words[0], &actions, &attributes, &arguments, environ)
    }
}
