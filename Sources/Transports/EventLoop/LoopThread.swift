internal import CLinux
internal import Glibc

/// A thread that builds a loop, runs it, and is joined.
///
/// `build` runs on the new thread, so nothing that belongs to the loop ever crosses over. Join before leaving `main`:
/// OpenSSL's exit handlers must not run under a loop that still uses TLS.
public final class LoopThread: Sendable {
    private let thread: Locked<pthread_t?>

    /// - Parameter name: at most 15 bytes; what `top -H` shows.
    public init(name: String, build: @escaping @Sendable (EventLoop) -> Void) throws(SystemError) {
        let start = Start(name: name, build: build)
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(start)
        let code = pthread_create(&thread, nil, loopThreadMain, argument.toOpaque())
        guard code == 0 else {
            argument.release()
            throw SystemError(call: "pthread_create", code: code)
        }
        self.thread = Locked(thread)
    }

    /// Waits for the loop to stop. Blocks the caller; safe to call twice.
    public func join() {
        let taken = thread.withLock { thread -> pthread_t? in
            defer { thread = nil }
            return thread
        }
        if let taken { pthread_join(taken, nil) }
    }
}

private final class Start: Sendable {
    let name: String
    let build: @Sendable (EventLoop) -> Void
    init(name: String, build: @escaping @Sendable (EventLoop) -> Void) {
        self.name = name
        self.build = build
    }
}

// At file scope: a closure written inside an isolated context would trap when C calls it on the new thread.
private func loopThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
    _ = clinux_set_thread_name(start.name)
    // Swift's own threads, which make this one, are set back to 0: what `nice`, or systemd's `Nice=`, asked for the
    // process would not reach the thread that does the work.
    _ = clinux_take_process_priority()
    do {
        let loop = try EventLoop()
        start.build(loop)
        loop.run()
    } catch {
        // A process that cannot have one more descriptor at start has nothing to run.
        preconditionFailure("cannot create the event loop: \(error)")
    }
    return nil
}
