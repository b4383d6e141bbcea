import FanfareCore
import Testing

/// Nothing a producer writes may trap, and every rejection is one short printable line.
@Suite struct ValidationFuzzTests {
    private static let names = [
        "message", "format", "token", "tokens", "fid", "fids", "topic", "condition", "group", "audience",
        "audience_size", "id", "priority", "not_before", "expires_at", "validate_only", "results", "delivery",
        "traceparent", "tracestate", "op", "group_name", "recipients", "audience_format", "variants", "rate", "canary",
        "canary_wait_ms", "stop_if", "send_window", "nonsense", "",
    ]

    private static let values = [
        "{}", "[\"a\",\"b\"]", "a", "1", "0", "v1", "legacy", "all", "replace", "send", "subscribe", "group.add",
        "{demo}:k", "json", #"[{"token":"a","vars":{"n":"x"}}]"#, #"{"es":{"data":{"a":"{{n}}"}}}"#, "5%",
        "failed>5%; unknown>0.5%", "09:00-21:00 Europe/Madrid",
        "'a' in topics && ('b' in topics || 'c' in topics)", ValidationEntryTests.trace, "a=1,b@c=2", "",
        "9223372036854775807", "9223372036854775808", ValidationAcceptanceTests.everyField, "[", "\"", "'", "\\",
    ]

    @Test(arguments: 0..<8) func randomEntriesNeverTrap(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<1_500 {
            let count = Int.random(in: 0...6, using: &random)
            let fields = (0..<count).map { _ in
                (
                    name: Self.names.randomElement(using: &random) ?? "",
                    value: Self.mutated(Array((Self.values.randomElement(using: &random) ?? "").utf8), &random)
                )
            }
            Self.judge(fields)
        }
    }

    @Test(arguments: 0..<8) func brokenMessagesNeverTrap(_ seed: Int) {
        var random = SeededGenerator(seed: 100 + UInt64(seed))
        let samples = [
            ValidationAcceptanceTests.everyField, ValidationAcceptanceTests.everyFieldInSnakeCase,
            ValidationAcceptanceTests.everyLegacyField,
        ]
        for round in 0..<240 {
            let sample = samples[round % samples.count]
            let fields: [(name: String, value: [UInt8])] = [
                ("token", Array("a".utf8)),
                ("format", Array((round % samples.count == 2 ? "legacy" : "v1").utf8)),
                ("message", Self.mutated(Array(sample.utf8), &random)),
            ]
            Self.judge(fields)
        }
    }

    private static func judge(_ fields: [(name: String, value: [UInt8])]) {
        let first = EntryBuilder.validator().decide(entryID: "1-1", fields: fields)
        #expect(EntryBuilder.validator().decide(entryID: "1-1", fields: fields) == first)
        guard case .reject(let id, let reason) = first else { return }
        #expect(!id.isEmpty && id.utf8.count <= 128)
        #expect(reason.contains(": "))
        // Paths nest as deep as messages do.
        #expect(reason.unicodeScalars.count <= 2_000)
        #expect(reason.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "\(reason)")
    }

    /// Up to three edits: a byte changed, a piece repeated, or a piece removed.
    private static func mutated(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
            let start = Int.random(in: bytes.indices, using: &random)
            let end = Int.random(in: start...bytes.count, using: &random)
            switch Int.random(in: 0...3, using: &random) {
            case 0: bytes[start] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[start] = Array("\"\\{}[],:0-.e".utf8).randomElement(using: &random) ?? 0
            case 2: bytes.insert(contentsOf: Array(bytes[start..<end].prefix(64)), at: start)
            default: bytes.removeSubrange(start..<min(end, start + 64))
            }
        }
        return bytes
    }
}
