internal import EventLoop
public import Foundation

private let gate = Locked(())

/// Starts a process, one at a time. Foundation sees the end of a process by a socket that only that process inherits.
/// A process that another thread starts at the same time may inherit it, too, and hides the end until it ends itself.
public func startProcess(_ process: Process) throws {
    try gate.withLock { _ in try process.run() }
}

/// A pipe for a process that `startProcess` starts, and that no other process inherits. A process that holds the write
/// end of another one's pipe by chance keeps its reader waiting for the end of the text.
public func makePipe() -> Pipe {
    gate.withLock { _ in
        let pipe = Pipe()
        for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        return pipe
    }
}
