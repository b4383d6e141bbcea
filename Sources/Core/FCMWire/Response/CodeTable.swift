public import FanfareModel

/// The protocol of a code: protocols give the same word different meanings.
public enum CodeFamily: String, Equatable, Sendable, CaseIterable {
    case v1, legacy, xmpp, instanceID
    /// The management of device groups.
    case deviceGroup
}

/// Reaction of Fanfare to one error code of the wire.
public enum Disposition: Equatable, Sendable {
    /// The recipient's result is `failed`.
    case final
    /// Wait and try again. `floorMs` is the least first wait when the answer has no Retry-After that counts.
    case retry(floorMs: Int64, scope: Retry.Scope)
    /// Not processed; send again at once on another connection.
    case resend
    /// Get a new access token first; then as ``blockProject``.
    case refreshCredential
    /// The project or this recipient is refused: the recipient waits, and several of them block the project.
    case blockProject
}

/// One row: a code, the producer's error and remedy, and Fanfare's reaction.
public struct CodeRow: Equatable, Sendable {
    public var family: CodeFamily
    /// The code on the wire, or for answers without one their shape: `HTTP 4xx`, `ApnsError 410`, and
    /// `INVALID_ARGUMENT (recipient)` for one whose details prove that the recipient is at fault.
    public var code: String
    /// For a retried code: written when the tries are over.
    public var error: ErrorCode
    public var action: RemedyAction
    public var disposition: Disposition

    public init(
        _ family: CodeFamily,
        _ code: String,
        _ error: ErrorCode,
        _ action: RemedyAction,
        _ disposition: Disposition = .final
    ) {
        self.family = family
        self.code = code
        self.error = error
        self.action = action
        self.disposition = disposition
    }

    /// This row for a recipient of some kind: a topic or a condition cannot be removed, so the producer is at fault.
    func blaming(_ kind: RecipientKind) -> CodeRow {
        guard action == .remove, kind == .topic || kind == .condition else { return self }
        return CodeRow(family, code, .invalidArgument, .fixMessage, disposition)
    }

    /// The failure of one recipient that got this code, whose own spelling is kept.
    public func failure(rawError: String, httpStatus: Int) -> Failure {
        Failure(error: error, action: action, rawError: RawError.clean(rawError), httpStatus: httpStatus)
    }
}

/// The one table of codes, of all protocols. The documentation's table (page "ProtocolFacts") shows the same rows.
public enum CodeTable {
    /// FCM's least wait between two tries of one message.
    public static let shortFloorMs: Int64 = 10_000
    /// FCM's least wait after a rate limit without a Retry-After.
    public static let rateFloorMs: Int64 = 60_000

    /// The row of a code, or nil if the table does not know it: see ``unknown(_:)``.
    public static func row(_ family: CodeFamily, _ code: String) -> CodeRow? {
        index[family]?[code]
    }

    /// The row of a code that the table is known to have.
    static func known(_ family: CodeFamily, _ code: String) -> CodeRow {
        guard let row = row(family, code) else { preconditionFailure("the table of codes lacks \(family) \(code)") }
        return row
    }

    /// The row of an answer of 500 to 599: the first code that names a fault of the server, else its status.
    static func serverError(_ family: CodeFamily, _ codes: String?...) -> CodeRow {
        codes.lazy.compactMap { $0.flatMap { row(family, $0) } }
            .first { $0.error == .unavailable || $0.error == .internalError } ?? known(family, "HTTP 5xx")
    }

    /// Row of a code that the table does not know: it is kept in `raw_error` and not retried.
    public static func unknown(_ family: CodeFamily) -> CodeRow {
        CodeRow(family, "(anything else)", .unspecified, .none)
    }

    private static let index: [CodeFamily: [String: CodeRow]] = Dictionary(grouping: rows, by: \.family)
        .mapValues { rows in
            Dictionary(rows.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
        }
}
