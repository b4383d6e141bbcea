/// Why a message cannot be sent on a project's transport.
public struct TranslationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Such as `message.androidV2`.
    public let path: String
    /// Such as `has no counterpart in legacy`.
    public let rule: String

    public init(path: String, rule: String) { (self.path, self.rule) = (path, rule) }

    /// - Parameter path: within the message.
    init(_ path: [String], _ rule: String) {
        self.init(path: (["message"] + path).joined(separator: "."), rule: rule)
    }

    public var reason: String { "\(path): \(rule)" }
    public var description: String { reason }
}
