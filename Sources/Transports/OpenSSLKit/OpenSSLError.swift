internal import COpenSSL

/// A call into OpenSSL that failed. Holds OpenSSL's own words, never a byte of a key or of what was exchanged.
public struct OpenSSLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The failed action, in our words.
    public let action: String
    /// OpenSSL's reason, or ours where OpenSSL has none.
    public let reason: String
    /// The result of the check of the peer's certificate, if that failed.
    public let verifyResult: Int?

    init(_ action: String, reason: String, verifyResult: Int? = nil) {
        (self.action, self.reason, self.verifyResult) = (action, reason, verifyResult)
    }

    /// Removes the oldest error of this thread's queue, which is the cause, and empties the queue. An error left there would
    /// be read as the reason of a later, unrelated failure.
    static func dequeue(_ action: String) -> OpenSSLError {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return OpenSSLError(action, reason: "no reason given") }
        guard let text = ERR_reason_error_string(code) else {
            return OpenSSLError(action, reason: "error \(String(code, radix: 16))")
        }
        return OpenSSLError(action, reason: String(cString: text))
    }

    public var description: String { "\(action): \(reason)" }
}
