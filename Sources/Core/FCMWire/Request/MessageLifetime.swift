internal import FanfareJSON
internal import FanfareModel

/// A message's time to live. Retries end with it, counted from a recipient's first attempt.
public struct MessageLifetime: Equatable, Sendable {
    /// The longest of `android.ttl`, `time_to_live` and the web `TTL`; an `apns-expiration` of 0 counts as 0 here.
    private(set) var relativeMs: Int64?
    /// `apns-expiration`, which names a moment: Unix milliseconds.
    private(set) var absoluteMs: Int64?

    init() {}

    /// The lifetime in milliseconds of a recipient first tried at this Unix time in milliseconds; 0 allows one attempt,
    /// nil sets no limit.
    public func milliseconds(firstAttemptMs: Int64) -> Int64? {
        let left = absoluteMs.map { max(0, $0.subtractingReportingOverflow(firstAttemptMs).partialValue) }
        guard let relativeMs else { return left }
        return max(relativeMs, left ?? 0)
    }

    /// Reads a v1 message. Malformed values are ignored: intake judges them.
    init(v1 message: JSONObject) {
        var relative: [Int64] = []
        for name in ["android", "androidV2"] {
            let ttl = message.proto(name)?.object?.proto("ttl")?.string.flatMap(DurationText.wholeSeconds)
            if let ttl { relative.append(ttl) }
        }
        if let ttl = message.header("TTL", of: "webpush").flatMap(Self.seconds) { relative.append(ttl) }
        if let expiration = message.header("apns-expiration", of: "apns").flatMap(Self.seconds) {
            if expiration == 0 { relative.append(0) } else { absoluteMs = expiration * 1_000 }
        }
        relativeMs = relative.max().map { $0 * 1_000 }
    }

    init(legacy message: JSONObject) {
        let ttl = message["time_to_live"]?.number?.wholeInt64
        if let ttl, (0...Self.maximumSeconds).contains(ttl) { relativeMs = ttl * 1_000 }
    }

    /// Beyond any date and any TTL, and far from overflow in milliseconds.
    private static let maximumSeconds: Int64 = 1_000_000_000_000

    private static func seconds(_ text: String) -> Int64? {
        guard let value = Int64(text), (0...maximumSeconds).contains(value) else { return nil }
        return value
    }
}

/// A protobuf duration in JSON: decimal seconds and an `s`.
enum DurationText {
    /// Whole seconds, rounded down as FCM does; nil if it is no duration or beyond 12 digits.
    static func wholeSeconds(_ text: String) -> Int64? {
        guard text.utf8.last == UInt8(ascii: "s") else { return nil }
        let whole = text.utf8.prefix(while: \.isASCIIDigit)
        let rest = text.utf8[whole.endIndex...].dropLast()
        guard (1...12).contains(whole.count), rest.isEmpty || rest.first == UInt8(ascii: "."),
            rest.dropFirst().allSatisfy(\.isASCIIDigit)
        else { return nil }
        return Int64(Substring(whole))
    }
}
