internal import FanfareModel

/// A name that is compared byte by byte: `café` in two normal forms is two names, as it is for FCM.
///
/// Swift's own equality of strings takes them for one. So a name that may hold more than ASCII is a key of a table, or is
/// compared, as this type. Tokens, topics and ids of projects hold ASCII only.
struct ExactText: Hashable, Sendable, ExpressibleByStringLiteral {
    let text: String

    init(_ text: String) { self.text = text }

    init(stringLiteral text: String) { self.text = text }

    static func == (one: ExactText, other: ExactText) -> Bool { one.text.isExactly(other.text) }

    func hash(into hasher: inout Hasher) { hasher.combine(ByteHash.of(text)) }
}

extension String {
    /// Whether both have the same bytes. Equal bytes are equal strings too, and comparing strings is quicker.
    func isExactly(_ other: String) -> Bool { self == other && utf8.elementsEqual(other.utf8) }

    func hasExactPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
}

extension String? {
    /// Whether both have the same bytes, or are nil.
    func isExactly(_ other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isExactly(other)
    }
}

extension Dictionary where Key == ExactText {
    subscript(name: String) -> Value? {
        get { self[ExactText(name)] }
        _modify { yield &self[ExactText(name)] }
    }
}

extension Set<ExactText> {
    func contains(_ name: String) -> Bool { contains(ExactText(name)) }
}
