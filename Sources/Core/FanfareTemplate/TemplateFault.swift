/// The rule that a personal message or one of its recipients breaks, and the place where it does.
public struct TemplateFault: Error, Equatable, Sendable {
    /// The field, as the producer wrote it, such as `message.android.collapse_key` or `vars.name`; empty for the whole
    /// recipient.
    public let path: String
    /// What the field must be or must not be, without the producer's text.
    public let rule: String

    public init(_ path: String, _ rule: String) {
        self.path = path
        self.rule = rule
    }

    /// Both in one line, such as `vars.name: missing`.
    public var reason: String { path.isEmpty ? rule : "\(path): \(rule)" }
}
