import FanfareModel
import Testing

@Suite struct ReasonTests {
    struct Row: Sendable {
        let reason: Reason
        let text: String
        let cause: String?
    }

    private static let refused = Reason(.connection, code: "libcurl 7", "Failed to connect to a after 0 ms: refused")
    private static let unknown = Reason(.authority, code: "libcurl 60", "SSL certificate problem").withRemedy
    private static let remedy = "a private authority is named by tls.ca_file"

    @Test(arguments: [
        Row(
            reason: refused,
            text: "libcurl 7: Failed to connect to a after 0 ms: refused",
            cause: "Failed to connect to a: refused (libcurl 7)"
        ),
        Row(
            reason: unknown,
            text: "libcurl 60: SSL certificate problem; \(remedy)",
            cause: "SSL certificate problem (libcurl 60); \(remedy)"
        ),
        Row(
            reason: Reason(.name, code: "libcurl 6", "no host").before(Reason(.unreachable, "the origin is away")),
            text: "the origin is away; before: libcurl 6: no host",
            cause: "no host (libcurl 6)"
        ),
        Row(reason: Reason(.connection, code: "libcurl 55", ""), text: "libcurl 55", cause: "libcurl 55"),
        Row(reason: Reason(.unreachable, "the origin is away"), text: "the origin is away", cause: nil),
        Row(reason: "", text: "", cause: nil),
        Row(reason: "no PING after 5 ms", text: "no PING after 5 ms", cause: "no PING after 5 ms"),
        Row(
            reason: unknown.adding(hint: "raise the limit", as: .files),
            text: "libcurl 60: SSL certificate problem; \(remedy); raise the limit",
            cause: "SSL certificate problem (libcurl 60); \(remedy); raise the limit"
        ),
        Row(
            reason: Reason(.timeout, "late").after("FCM is away"),
            text: "FCM is away: late",
            cause: "FCM is away: late"
        ),
    ])
    func reasonIsPrintedForResultsAndForOperators(row: Row) {
        #expect(row.reason.description == row.text)
        #expect(row.reason.cause == row.cause)
    }

    @Test func kindIsThatOfTheCause() {
        let moved = Self.refused.before(Reason(.timeout, "no free stream in time"))
        #expect(moved.kind == .connection && Self.refused.after("FCM is away").kind == .connection)
        #expect(Self.refused.withRemedy == Self.refused, "a kind without a remedy")
    }
}
