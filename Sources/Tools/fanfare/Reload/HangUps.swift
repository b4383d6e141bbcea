internal import Glibc
internal import Synchronization

/// Receives SIGHUP. From its creation on the signal no longer ends the process; one that arrives before
/// ``wait(milliseconds:)`` is called is not lost.
struct HangUps: Sendable {
    private let input: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { preconditionFailure("no descriptor is left for signals") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A full pipe must not block the handler, and an empty one ends the reading.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        input = ends[0]
        hangUpPipe.store(ends[1], ordering: .releasing)
        // A handler may only call async-signal-safe functions, such as write.
        signal(SIGHUP) { _ in
            let code = errno
            var byte: UInt8 = 1
            _ = write(hangUpPipe.load(ordering: .acquiring), &byte, 1)
            errno = code
        }
    }

    /// Waits for a signal. Several that came together count as one.
    ///
    /// - Returns: whether a signal came within the time.
    func wait(milliseconds: Int32) -> Bool {
        var wanted = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, milliseconds) > 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 256)
        while read(input, &bytes, bytes.count) > 0 {}
        return true
    }
}

/// The descriptor that the handler writes to; set before the handler is installed.
private let hangUpPipe = Atomic<Int32>(-1)
