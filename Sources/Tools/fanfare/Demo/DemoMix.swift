/// The recipients of the demo, of which 4 % fail, and their expected results.
struct DemoMix {
    /// A kind of result: a row of the summary.
    struct Row: Hashable, Comparable {
        var status: String
        var error: String
        var action: String

        static let sent = Row(status: "sent", error: "-", action: "none")

        static func < (a: Row, b: Row) -> Bool {
            (a.status == "sent" ? 0 : 1, a.status, a.error, a.action) < (
                b.status == "sent" ? 0 : 1, b.status, b.error, b.action
            )
        }
    }

    private(set) var tokens: [String] = []
    /// Number of recipients by expected result.
    private(set) var expected: [Row: Int] = [:]

    private static let kinds: [(prefix: String, perMille: Int, row: Row)] = [
        ("sbx-unregistered-", 20, Row(status: "failed", error: "UNREGISTERED", action: "remove")),
        ("sbx-invalid-", 10, Row(status: "failed", error: "INVALID_ARGUMENT", action: "remove")),
        ("sbx-mismatch-", 5, Row(status: "failed", error: "SENDER_ID_MISMATCH", action: "fix_credentials")),
        ("sbx-auth-", 5, Row(status: "failed", error: "THIRD_PARTY_AUTH_ERROR", action: "fix_credentials")),
        ("sbx-devicerate-1-", 5, .sent),
        ("sbx-quota-1-", 5, .sent),
        ("sbx-slow-200-", 10, .sent),
        ("sbx-apple-", 300, .sent),
        ("sbx-web-", 100, .sent),
        ("android-", 540, .sent),
    ]

    /// Recipients with a transient server error, by index.
    private static let serverErrors = [3: "sbx-unavailable-1-", 5: "sbx-internal-1-", 8: "sbx-unavailable-1-"]

    init(count: Int) {
        for index in 0..<count {
            // Server errors with Retry-After hold the project, so they come together at the start.
            if let prefix = Self.serverErrors[index] {
                tokens.append("\(prefix)\(index)")
                expected[.sent, default: 0] += 1
                continue
            }
            // 373 and 1000 are coprime: every thousand recipients hold the whole mix, evenly spread.
            var slot = index * 373 % 1_000
            for kind in Self.kinds {
                slot -= kind.perMille
                guard slot < 0 else { continue }
                tokens.append("\(kind.prefix)\(index)")
                expected[kind.row, default: 0] += 1
                break
            }
        }
    }
}
