public import EventLoop
internal import Foundation

/// Runs `build` on a new event loop and waits until the loop is stopped. Throws after `seconds`, so that a test that
/// hangs fails; a busy machine has time enough.
///
/// Objects that `build` creates stay on the loop's thread. `build` closes them and then calls `loop.stop()`. It returns
/// values through a `Locked` value.
public func runLoop(seconds: Int64 = 300, _ build: @escaping @Sendable (EventLoop) -> Void) throws {
    let isOver = Locked(false)
    let thread = try LoopThread(name: "test-loop") { loop in
        // Weak, because the loop retains its timers.
        loop.schedule(afterMilliseconds: seconds * 1_000) { [weak loop] in
            isOver.withLock { $0 = true }
            loop?.stop()
        }
        build(loop)
    }
    thread.join()
    if isOver.withLock({ $0 }) { throw TestFailure("the loop was not stopped within \(seconds) s") }
}

/// SplitMix64 generator: one seed gives the same cases in every run.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
