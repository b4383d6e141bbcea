/// A value that may hold a secret. Printing, debugging and dumping show its description only.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The secret in requests to Fanfare's HTTP servers. Neither it nor its length is ever printed.
public struct BearerToken: Sendable, Redacted {
    private let bytes: [UInt8]

    public init(_ text: String) { bytes = Array(text.utf8) }

    public var description: String { "[bearer token]" }

    /// Whether an `Authorization` header carries it. The time of the check does not depend on the matching part.
    public func accepts(authorization: String?) -> Bool {
        guard let authorization else { return false }
        let scheme = Array("bearer ".utf8)
        let given = Array(authorization.utf8)
        guard given.count > scheme.count, zip(given, scheme).allSatisfy({ Self.lowered($0) == $1 }) else {
            return false
        }
        return isEqual(given[scheme.count...])
    }

    /// Whether the text, as a user typed it, is this token.
    public func accepts(_ given: String) -> Bool { isEqual(Array(given.utf8)[...]) }

    /// Compares every byte, whichever differs first.
    private func isEqual(_ given: ArraySlice<UInt8>) -> Bool {
        guard !bytes.isEmpty else { return false }
        var difference = given.count ^ bytes.count
        for (index, byte) in given.enumerated() { difference |= Int(byte ^ bytes[index % bytes.count]) }
        return difference == 0
    }

    private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
