import FanfareClient
import FanfareJSON

@testable import FanfareCore

/// A part of a message of which a random value can be made.
protocol Sampled {
    static func sample(_ source: inout SampleSource) -> Self
}

/// Random values that the rules of the table allow, limits included. Equal seeds make equal values.
struct SampleSource {
    private var state: UInt64
    /// Whether every field is set.
    private let isFull: Bool

    init(seed: UInt64, isFull: Bool = false) {
        state = seed
        self.isFull = isFull
    }

    /// SplitMix64.
    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    mutating func optional<Value>(_ make: (inout SampleSource) -> Value) -> Value? {
        isFull || below(3) == 0 ? make(&self) : nil
    }

    mutating func required<Value>(_ make: (inout SampleSource) -> Value) -> Value { make(&self) }

    mutating func text() -> String { ["", "a", "Hello, World", "\"q\"\n\u{1}", "grüße 🎉", "%1$s"][below(6)] }
    mutating func color() -> String { "#" + (0..<6).map { _ in String(below(16), radix: 16) }.joined() }
    mutating func label() -> String { String(repeating: ["a", "Z", "9", "-_.~%"][below(4)], count: 1 + below(10)) }
    mutating func link(_ scheme: String) -> String { "\(scheme)://example.com/\(below(100))?a=b#c" }
    mutating func timestamp() -> String { ["2026-01-31T08:30:00Z", "2026-02-28T23:59:59.123456789+01:00"][below(2)] }
    mutating func flag() -> Bool { below(2) == 0 }
    mutating func int32() -> Int32 { [0, 1, -1, .max, .min][below(5)] }
    mutating func fraction() -> Double { [0, 1, 0.5, 1.0 / 3.0, 1e-7][below(5)] }

    /// The simulator reads nine digits of seconds.
    mutating func duration(_ most: Int64) -> Duration {
        let most = Duration.seconds(min(most, 999_999_999))
        return [.zero, most, .milliseconds(3_500), .nanoseconds(1), most - .nanoseconds(1)][below(5)]
    }

    mutating func choice<Choice: CaseIterable>() -> Choice {
        let all = Array(Choice.allCases)
        return all[below(all.count)]
    }

    mutating func list<Value>(_ make: (inout SampleSource) -> Value) -> [Value] {
        (0..<below(3)).map { _ in make(&self) }
    }

    mutating func texts(_ rule: TextsRule) -> [String: String] {
        switch rule {
        case .data: ["score": text(), "from_user": text()]
        case .webPushHeaders: ["TTL": "2419200", "Urgency": "very-low", "Topic": "a-B_9"]
        case .apnsHeaders: ["apns-priority": "5", "apns-expiration": "0", "apns-collapse-id": "c"]
        }
    }

    mutating func object() -> JSONObject {
        ["aps": ["alert": ["title": .string(text())], "badge": 3], "own": [1, true]]
    }
}
