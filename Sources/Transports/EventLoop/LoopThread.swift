internal import CLinux
internal import Glibc

/// A thread that builds a loop, runs it, and is joined.
///
/// `build` runs on the new thread, so nothing that belongs to the loop crosses threads. Join before leaving `main`:
/// OpenSSL's exit handlers must not run under a loop that still uses TLS.
public final class LoopThread: Sendable {
    private let thread: Locked<pthread_t?>

    /// - Parameter name: at most 15 bytes; what `top -H` shows.
    public init(name: String, build: @escaping @Sendable (EventLoop) -> Void) throws(SystemError) {
        let thread = try BackgroundThread.start {
            _ = clinux_set_thread_name(name)
            // Swift's own threads, which make this one, run at niceness 0; the process may have another from `nice` or
            // systemd's `Nice=`.
            _ = clinux_take_process_priority()
            do {
                let loop = try EventLoop()
                build(loop)
                loop.run()
            } catch {
                // A process that cannot have one more descriptor at start has nothing to run.
                preconditionFailure("cannot create the event loop: \(error)")
            }
        }
        self.thread = Locked(thread)
    }

    /// Waits for the loop to stop. Blocks the caller; safe to call twice.
    public func join() {
        let running = thread.withLock { thread -> pthread_t? in
            defer { thread = nil }
            return thread
        }
        if let running { pthread_join(running, nil) }
    }
}

/// Threads that run one closure.
public enum BackgroundThread {
    /// Runs `body` on a thread that ends with it. Nothing joins the thread.
    public static func detach(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        pthread_detach(try start(body))
    }

    /// Runs `body` on a thread that has to be joined or detached.
    static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) -> pthread_t {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Box(body: body))
        let code = pthread_create(&thread, nil, threadMain, box.toOpaque())
        guard code != 0 else { return thread }
        box.release()
        throw SystemError(call: "pthread_create", code: code)
    }

    private final class Box: Sendable {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static let threadMain: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { box in
        if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
        return nil
    }
}
