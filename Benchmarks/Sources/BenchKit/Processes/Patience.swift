internal import CChild
internal import Foundation

/// Waiting with an end to it.
enum Patience {
    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Asks until the answer is there.
    /// - Parameter what: ends the sentence "gave up waiting for".
    static func wait<Answer>(
        for what: String,
        seconds: Double,
        every pause: Double = 0.01,
        until ask: () throws -> Answer?
    ) throws -> Answer {
        let end = now() + seconds
        while true {
            if cchild_interrupted() != 0 { throw BenchError.interrupted }
            if let answer = try ask() { return answer }
            guard now() < end else { throw BenchError.failed("gave up waiting for \(what) after \(Int(seconds)) s") }
            usleep(UInt32(pause * 1e6))
        }
    }
}
