internal import FanfareModel
internal import Glibc
internal import NIOConcurrencyHelpers

/// The text of the `Date` header, made once a second. May be used from any thread.
public final class HTTPDateText: Sendable {
    private let cached = NIOLockedValueBox((second: -1, text: ""))

    public init() {}

    public func now() -> String {
        let second = time(nil)
        return cached.withLockedValue { cached in
            if cached.second != second {
                cached = (second, HTTPDate.text(unixMs: Int64(second) * 1_000))
            }
            return cached.text
        }
    }
}
