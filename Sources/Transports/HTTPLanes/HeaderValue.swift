/// What is kept of one header of an answer. Both engines have the same bounds.
package enum HeaderValue {
    /// Stands for a value that is not kept. It is no wait, no date and no media type, so its reader takes the cautious side.
    package static let unreadable = "unreadable"
    /// A longer value is not kept: its front alone may say something else.
    package static let maximumBytes = 1_024
    /// Of a name that is repeated more often, the further values are not kept.
    package static let maximumRepeats = 16
}

extension String? {
    /// Appends the value of a repeated header after a comma (RFC 9110, 5.3).
    package mutating func join(_ value: String) {
        self = map { "\($0), \(value)" } ?? value
    }
}
