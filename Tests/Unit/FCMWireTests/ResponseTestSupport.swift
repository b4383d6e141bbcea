import FCMWire
import FanfareModel

/// SplitMix64: the same seed gives the same run, so that a failure can be played again.
struct ResponseGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension [UInt8] {
    /// A few random edits: a byte changed, removed, inserted, or the end cut off.
    func mutated(using generator: inout ResponseGenerator) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let at = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes[at] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: at)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: at)
            case 3: bytes.insert(contentsOf: "-9e999{}[],\"".utf8.shuffled(using: &generator), at: at)
            default: bytes.removeSubrange(at...)
            }
        }
        return bytes
    }
}

let responseNow: Int64 = 784_111_777_000  // Sun, 06 Nov 1994 08:49:37 GMT

func answer(
    _ status: Int,
    _ body: String = "",
    type: String? = "application/json; charset=UTF-8",
    retryAfter: String? = nil,
    isComplete: Bool = true
) -> RequestOutcome {
    .answered(
        HTTPAnswer(
            status: status,
            body: Array(body.utf8),
            isComplete: isComplete,
            contentType: type,
            retryAfter: retryAfter
        )
    )
}
