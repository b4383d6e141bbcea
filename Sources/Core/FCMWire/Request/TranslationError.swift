/// Why a message cannot be sent on a project's transport.
public struct TranslationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `path: rule`, such as `message.androidV2: has no counterpart in legacy`.
    public let reason: String

    public init(reason: String) {
        self.reason = reason
    }

    init(_ path: [String], _ rule: String) {
        reason = (["message"] + path).joined(separator: ".") + ": " + rule
    }

    public var description: String { reason }
}
