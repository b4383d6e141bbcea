/// The way a legacy body travels, which decides the fields that it may have.
enum LegacyDialect: Equatable, Sendable {
    /// JSON over HTTP.
    case json
    /// A form over HTTP: the fields of one table, and nothing else.
    case text
    /// JSON in an XMPP stanza. An unknown field could turn the message into an acknowledgement or worse.
    case xmpp

    /// For sentences: `has no counterpart …`.
    var place: String {
        switch self {
        case .json: return "in legacy"
        case .text: return "in plain text"
        case .xmpp: return "over XMPP"
        }
    }

    /// Why a field of a legacy body cannot travel so; nil if it can.
    func fault(of field: String) -> String? {
        switch self {
        case .json: return field == Self.receipt ? Self.receiptRule : nil
        case .text: return Self.textFields.contains(field) ? nil : "has no counterpart \(place)"
        case .xmpp:
            guard Self.fields.contains(field) else { return "unknown field" }
            return field == "restricted_package_name" ? "has no counterpart \(place)" : nil
        }
    }

    static let receipt = "delivery_receipt_requested"
    static let receiptRule = "has no counterpart over HTTP"

    private static let fields = Set(TranslationTable.rows.compactMap(\.legacy.first))
        .union(TranslationTable.otherLegacyFields).union([receipt])
    private static let textFields: Set = [
        "collapse_key", "time_to_live", "restricted_package_name", "dry_run", "data",
    ]
}
