/// Why a text with placeholders is refused. Offsets are bytes of the text, counted from 0, at which `{{` stands.
public enum PlaceholderError: Error, Equatable, Sendable {
    /// No `}}` follows the placeholder's name or fallback.
    case unclosed(offset: Int)
    /// What stands between `{{` and `}}` or `|` is not a ``PlaceholderName``.
    case badName(offset: Int)
    /// A fallback contains `{{`.
    case insideFallback(offset: Int)

    /// The rule for a reason of the form `path: rule`.
    public var rule: String {
        switch self {
        case .unclosed(let offset): "the placeholder at byte \(offset) has no closing }}"
        case .badName(let offset): "the placeholder at byte \(offset) has a name that is not \(PlaceholderName.pattern)"
        case .insideFallback(let offset):
            "the placeholder at byte \(offset) is inside a fallback, write {{{{ for a literal {{"
        }
    }
}

/// How the characters of placeholders are spelled in an encoded text.
public struct PlaceholderMarks: Equatable, Sendable {
    /// `{{`, the start of a placeholder.
    let opening: [UInt8]
    /// `|`, between name and fallback.
    let separator: [UInt8]
    /// `}}`, the end of a placeholder.
    let closing: [UInt8]
    /// `:`, before the name of a placeholder that ``EmbeddedPlaceholders`` marked; nil where it is not allowed.
    let embedded: [UInt8]?

    /// The characters themselves, as JSON and XML leave them.
    public static let plain = PlaceholderMarks(colon: ":")
    /// The spelling of `application/x-www-form-urlencoded`, in upper case.
    public static let form = PlaceholderMarks(opening: "%7B%7B", separator: "%7C", closing: "%7D%7D", colon: "%3A")
    /// The characters in a producer's own text, in which no name begins with a colon.
    static let source = PlaceholderMarks(colon: nil)

    private init(opening: String = "{{", separator: String = "|", closing: String = "}}", colon: String?) {
        (self.opening, self.separator, self.closing) = (Array(opening.utf8), Array(separator.utf8), Array(closing.utf8))
        embedded = colon.map { Array($0.utf8) }
    }
}

/// Splits a text into literals and placeholders, from left to right. ``PlaceholderText`` states the grammar.
struct PlaceholderScanner {
    enum Part: Equatable {
        /// Bytes of the text that stand for themselves.
        case literal(Range<Int>)
        case slot(Slot)
    }

    struct Slot: Equatable {
        let name: PlaceholderName
        /// In the text's encoding, each `{{{{` already written as `{{`; nil without a `|`.
        let fallback: [UInt8]?
        /// True for a placeholder within JSON text that is itself a string.
        let isEmbedded: Bool
        /// The placeholder with its braces.
        let range: Range<Int>
    }

    private let bytes: [UInt8]
    private let marks: PlaceholderMarks
    private var next = 0

    init(_ bytes: [UInt8], marks: PlaceholderMarks) {
        self.bytes = bytes
        self.marks = marks
    }

    /// The next part; nil at the end.
    mutating func part() throws(PlaceholderError) -> Part? {
        guard next < bytes.count else { return nil }
        guard has(marks.opening, at: next) else {
            let start = next
            next = index(of: marks.opening, from: start) ?? bytes.count
            return .literal(start..<next)
        }
        let second = next + marks.opening.count
        guard has(marks.opening, at: second) else { return .slot(try slot()) }
        next = second + marks.opening.count
        return .literal(second..<next)
    }

    private mutating func slot() throws(PlaceholderError) -> Slot {
        let start = next
        next += marks.opening.count
        var isEmbedded = false
        if let colon = marks.embedded, has(colon, at: next) {
            isEmbedded = true
            next += colon.count
        }
        let nameStart = next
        while next < bytes.count, PlaceholderName.isNameByte(bytes[next]) { next += 1 }
        let name = PlaceholderName(bytes[nameStart..<next])
        var fallback: [UInt8]?
        if has(marks.separator, at: next), name != nil {
            next += marks.separator.count
            fallback = try self.fallback(of: start)
        } else if !has(marks.closing, at: next) {
            guard index(of: marks.closing, from: next) != nil else { throw .unclosed(offset: start) }
            throw .badName(offset: start)
        }
        guard let name else { throw .badName(offset: start) }
        next += marks.closing.count
        return Slot(name: name, fallback: fallback, isEmbedded: isEmbedded, range: start..<next)
    }

    /// Reads up to the first `}}`, which stays unread.
    ///
    /// - Parameter slot: where the placeholder begins.
    private mutating func fallback(of slot: Int) throws(PlaceholderError) -> [UInt8] {
        var text: [UInt8] = []
        while next < bytes.count {
            if has(marks.closing, at: next) { return text }
            if has(marks.opening, at: next) {
                guard has(marks.opening, at: next + marks.opening.count) else { throw .insideFallback(offset: next) }
                text += marks.opening
                next += 2 * marks.opening.count
            } else {
                text.append(bytes[next])
                next += 1
            }
        }
        throw .unclosed(offset: slot)
    }

    private func has(_ mark: [UInt8], at index: Int) -> Bool {
        guard index < bytes.count, bytes[index] == mark[0] else { return false }
        return bytes[index...].starts(with: mark)
    }

    private func index(of mark: [UInt8], from start: Int) -> Int? {
        (start..<max(start, bytes.count)).first { has(mark, at: $0) }
    }
}
