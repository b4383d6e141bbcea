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

    private typealias Kind = (prefix: String, perMille: Int, row: Row)

    let count: Int
    /// Number of recipients by expected result.
    let expected: [Row: Int]

    private static let kinds: [Kind] = [
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
    /// The kind of each of a thousand recipients. 373 and 1000 are coprime, so the kinds are evenly spread.
    private static let thousand: [Kind] = {
        let inOrder = kinds.flatMap { Array(repeating: $0, count: $0.perMille) }
        return inOrder.indices.map { inOrder[$0 * 373 % inOrder.count] }
    }()
    /// Recipients with a transient server error, by index. Server errors with Retry-After hold the project, so they come
    /// together at the start.
    private static let serverErrors: [Int: Kind] = [
        3: ("sbx-unavailable-1-", 0, .sent), 5: ("sbx-internal-1-", 0, .sent), 8: ("sbx-unavailable-1-", 0, .sent),
    ]

    init(count: Int) {
        self.count = count
        expected = (0..<count).reduce(into: [:]) { $0[Self.kind($1).row, default: 0] += 1 }
    }

    func token(_ index: Int) -> String { "\(Self.kind(index).prefix)\(index)" }

    private static func kind(_ index: Int) -> Kind { serverErrors[index] ?? thousand[index % thousand.count] }
}
