internal import Dispatch

enum Workers {
    /// Runs `body` on so many threads at once and returns when all have.
    static func run(_ count: Int, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.concurrentPerform(iterations: count) { _ in body() }
    }
}
