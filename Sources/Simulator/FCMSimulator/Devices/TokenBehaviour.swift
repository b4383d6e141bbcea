import FanfareModel

/// The behaviour that a token's prefix `sbx-` asks for.
enum TokenBehaviour: Equatable, Sendable {
    case healthy(Platform)
    case refused(DeviceFailure)
    case canonical(String)
    case retryable(RetryableError, times: Int)
    case slow(milliseconds: Int64)
    case lost(times: Int)

    init(_ token: String) {
        self = Self.read(token) ?? .healthy(.android)
    }

    /// Its platform, unless the device is described otherwise.
    var platform: Platform {
        if case .healthy(let platform) = self { return platform }
        return .android
    }

    private static func read(_ token: String) -> TokenBehaviour? {
        guard token.utf8.starts(with: "sbx-".utf8) else { return nil }
        let parts = token.utf8.dropFirst(4).split(
            separator: UInt8(ascii: "-"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        // Without a hyphen after the word it is a token like any other.
        guard parts.count == 2 else { return nil }
        let rest = String(parts[1]) ?? ""
        switch String(parts[0]) ?? "" {
        case "unregistered": return .refused(.unregistered)
        case "invalid": return .refused(.invalid)
        case "mismatch": return .refused(.mismatch)
        case "auth": return .refused(.auth)
        case "canonical": return .canonical("canon-" + rest)
        case "apple": return .healthy(.apple)
        case "web": return .healthy(.web)
        case "unavailable": return number(rest).map { .retryable(.unavailable, times: $0) }
        case "internal": return number(rest).map { .retryable(.internalError, times: $0) }
        case "quota": return number(rest).map { .retryable(.quota, times: $0) }
        case "devicerate": return number(rest).map { .retryable(.deviceRate, times: $0) }
        case "slow": return number(rest).map { .slow(milliseconds: Int64(min($0, 600_000))) }
        case "lost": return number(rest).map { .lost(times: $0) }
        default: return nil
        }
    }

    /// Reads `N-`: digits up to a hyphen.
    static func number(_ text: String) -> Int? {
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "-") }
        guard digits.count < text.utf8.count, digits.count <= 9,
            digits.allSatisfy(\.isASCIIDigit)
        else { return nil }
        return String(digits).flatMap { Int($0) }
    }

    /// How often sends to a topic `sbx-topicrate-N-` are refused; 0 for any other topic.
    static func topicFailures(_ topic: String) -> Int {
        guard topic.hasPrefix("sbx-topicrate-") else { return 0 }
        return number(String(topic.dropFirst("sbx-topicrate-".count))) ?? 0
    }
}

enum RetryableError: Equatable, Sendable { case unavailable, internalError, quota, deviceRate }

enum Platform: String, Equatable, Sendable { case android, apple, web }
