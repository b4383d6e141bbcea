/// Wakes one task that waits. A call while it does not wait makes its next wait end at once.
struct WakeUp: Sendable {
    private let calls: AsyncStream<Void>
    private let source: AsyncStream<Void>.Continuation

    init() { (calls, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func call() { source.yield() }

    /// Ends with a call, or when the task is cancelled.
    func wait() async {
        var iterator = calls.makeAsyncIterator()
        _ = await iterator.next()
    }
}
