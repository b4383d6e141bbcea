internal import Dispatch

enum Workers {
    /// Runs `body` on `count` threads at once and returns when all have finished.
    static func run(_ count: Int, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.concurrentPerform(iterations: count) { _ in body() }
    }
}
