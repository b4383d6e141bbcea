/// The id of a stream's entry, ordered as Redis orders them. A part that is no number counts as 0.
public struct EntryID: Comparable, Sendable {
    public let text: String
    private let milliseconds: UInt64
    private let sequence: UInt64

    public init(_ text: String) {
        self.text = text
        let parts = text.split(separator: "-").map { UInt64($0) ?? 0 }
        milliseconds = parts.first ?? 0
        sequence = parts.count > 1 ? parts[1] : 0
    }

    public static func < (left: EntryID, right: EntryID) -> Bool {
        (left.milliseconds, left.sequence) < (right.milliseconds, right.sequence)
    }

    public static func == (left: EntryID, right: EntryID) -> Bool {
        (left.milliseconds, left.sequence) == (right.milliseconds, right.sequence)
    }
}
