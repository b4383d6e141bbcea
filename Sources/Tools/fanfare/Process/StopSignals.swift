internal import Dispatch
internal import Glibc
internal import Synchronization

/// Calls a closure on the first SIGTERM or SIGINT; the second one ends the process at once.
///
/// The handler writes the signal's number to a pipe, so a signal that arrives before the source watches is not lost.
final class StopSignals {
    private let source: any DispatchSourceRead

    /// - Parameter stop: called once, on a private queue.
    convenience init(_ stop: @escaping @Sendable () -> Void) { self.init(withNumber: { _ in stop() }) }

    /// - Parameter stop: called once, on a private queue, with the number of the signal.
    init(withNumber stop: @escaping @Sendable (Int32) -> Void) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { preconditionFailure("no descriptor is left for signals") }
        let input = ends[0]
        signalPipe.store(ends[1], ordering: .releasing)
        let queue = DispatchQueue(label: "fanfare.signals")
        source = DispatchSource.makeReadSource(fileDescriptor: input, queue: queue)
        var isStopping = false
        source.setEventHandler {
            var number: UInt8 = 0
            guard read(input, &number, 1) == 1 else { return }
            if isStopping { _exit(128 + Int32(number)) }
            isStopping = true
            stop(Int32(number))
        }
        source.resume()
        for number in [SIGTERM, SIGINT] {
            // A handler may only call async-signal-safe functions, such as write.
            signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(signalPipe.load(ordering: .acquiring), &byte, 1)
            }
        }
    }

    func cancel() {
        for number in [SIGTERM, SIGINT] { signal(number, SIG_DFL) }
        source.cancel()
    }
}

/// The descriptor that the handler writes to; set before the handler is installed.
private let signalPipe = Atomic<Int32>(-1)
