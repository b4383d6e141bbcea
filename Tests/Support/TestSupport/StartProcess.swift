internal import EventLoop
public import Foundation

private let gate = Locked(())

/// Starts a process, one at a time. Foundation sees the end of a process by a socket that only that process inherits.
/// A process that another thread starts at the same time may inherit it, too, and hides the end until it ends itself.
public func startProcess(_ process: Process) throws {
    try gate.withLock { _ in try process.run() }
}
