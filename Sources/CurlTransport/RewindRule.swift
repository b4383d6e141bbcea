internal import Glibc

/// What to say when libcurl wants a body from its beginning again, which is how it announces that it is about to send
/// the request a second time.
///
/// libcurl rewinds for two reasons and tells neither: the server refused the stream (REFUSED_STREAM, or a GOAWAY whose
/// last id is lower), or a connection that had been used before died under it. Only the second leaves an error behind.
/// It is never allowed to send again: it would do so without delay, and the pool can move the request itself.
struct RewindRule {
    enum Answer: Equatable {
        /// Nothing of the body had left: go on.
        case allow
        /// The server did not process the request. Vetoed, and known to be safe to send again.
        case vetoRefused
        /// The server may have processed it. Vetoed.
        case vetoAmbiguous
    }

    /// - Parameters:
    ///   - bytesHandedOut: of the body, so far.
    ///   - systemError: the `errno` of the connection, 0 when it did not fail.
    ///   - systemErrorWhenAsked: the same, when the body was first asked for: what an address that was tried in vain left
    ///     behind. It is overlooked only if an established connection cannot fail with it.
    ///   - hasErrorText: whether libcurl has written a reason.
    ///   - isMultiplexed: whether the connection is known to be HTTP/2. On HTTP/1.1 a connection closed without an
    ///     answer leaves no error either, and proves nothing.
    static func answer(
        bytesHandedOut: Int,
        systemError: Int,
        systemErrorWhenAsked: Int,
        hasErrorText: Bool,
        isMultiplexed: Bool
    ) -> Answer {
        if bytesHandedOut == 0 { return .allow }
        let isOld =
            systemError == systemErrorWhenAsked && connectingOnly.contains(Int32(truncatingIfNeeded: systemError))
        let didNotFail = systemError == 0 || isOld
        return didNotFail && !hasErrorText && isMultiplexed ? .vetoRefused : .vetoAmbiguous
    }

    private static let connectingOnly = [ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT]
}
