internal import Dispatch
internal import Glibc
internal import Synchronization

/// Turns SIGTERM and SIGINT into calls. The second one ends the process at once.
final class StopSignals {
    private let sources: [any DispatchSourceSignal]

    /// - Parameter stop: called once, on a queue of its own.
    init(_ stop: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "fanfare.signals")
        let seen = SignalCount()
        sources = [SIGTERM, SIGINT].map { (number: Int32) in
            // The default action would end the process before the source is asked.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { if seen.next() == 1 { stop() } else { _exit(128 + number) } }
            source.resume()
            return source
        }
    }

    func cancel() {
        for source in sources { source.cancel() }
    }
}

private final class SignalCount: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
