internal import FanfareModel

/// Checks one value against its kind.
struct ValueRules {
    let hosts: HostPolicy

    /// Why the value is refused; nil if it is valid. The sentence never repeats a value that may be secret.
    func fault(of value: SourcedValue, kind: Setting.Kind) -> String? {
        for text in value.texts {
            switch kind {
            case .file: if ConfiguredFile.isContent(text) { return ConfiguredFile.contentSentence }
            case .text: break
            default: if ConfiguredFile.isPasted(text) { return "holds the content of a file, not \(kind.expectation)" }
            }
            if text.utf8.count > 4_096 { return "\(text.utf8.count) bytes, at most 4096" }
            if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                return "holds a control character"
            }
        }
        switch kind {
        case .text, .file: return value.text.isEmpty ? "empty" : nil
        case .integer(let range): return Self.integer(value.text, range)
        case .choice(let choices):
            return choices.contains(value.text)
                ? nil : "\(Self.shown(value.text)) is none of \(choices.joined(separator: ", "))"
        case .origin: return hosts.fault(of: value.text, allowsPath: false)
        case .collector: return hosts.fault(ofCollector: value.text)
        case .host: return hosts.fault(ofHost: value.text)
        case .digits: return Self.digits(value.text)
        case .redisURL: return Self.redisURL(value.text)
        case .proxy: return Self.proxy(value.text)
        case .address: return ListenAddress(value.text) == nil ? "must be host:port or unix:///path" : nil
        case .hosts:
            for host in value.texts where !HostPolicy.isHostName(host) {
                return "\(Self.shown(host)) is not a host name (no scheme, no port)"
            }
            return nil
        case .sizes: return Self.sizes(value.texts)
        }
    }

    /// A value for a message, cut to 64 characters. Not for paths and secrets.
    static func shown(_ text: String) -> String { text.count > 64 ? "\(text.prefix(64))…" : text }

    /// Whether a text is a valid topic name: FCM's rule, as the job validator applies it.
    private static func isTopic(_ name: Substring) -> Bool {
        (1...900).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_.~%".utf8.contains($0) }
    }

    private static func sizes(_ texts: [String]) -> String? {
        var names: Set<Substring> = []
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return "\(shown(text)) is not topic=size" }
            guard isTopic(parts[0]) else {
                return "\(shown(String(parts[0]))) is no topic: 1 to 900 of A-Z a-z 0-9 - _ . ~ %"
            }
            guard names.insert(parts[0]).inserted else { return "\(shown(String(parts[0]))) is given twice" }
            if let reason = integer(String(parts[1]), 0...1_000_000_000_000) {
                return "\(shown(String(parts[0]))): \(reason)"
            }
        }
        return nil
    }

    private static func integer(_ text: String, _ range: ClosedRange<Int64>) -> String? {
        guard text.utf8.allSatisfy({ $0.isASCIIDigit || $0 == 0x2D }), let number = Int64(text) else {
            return "\(shown(text)) is not a whole number"
        }
        return range.contains(number) ? nil : "\(number), must be \(range.lowerBound) to \(range.upperBound)"
    }

    private static func digits(_ text: String) -> String? {
        let isNumber = (1...32).contains(text.utf8.count) && text.utf8.allSatisfy(\.isASCIIDigit)
        return isNumber ? nil : "\(shown(text)) is not 1 to 32 digits"
    }

    private static func redisURL(_ text: String) -> String? {
        let schemes = [
            "redis://", "rediss://", "unix://", "redis-sentinel://", "rediss-sentinel://", "redis-cluster://",
            "rediss-cluster://",
        ]
        if schemes.contains(where: { text.hasPrefix($0) }) { return nil }
        if let host = HostPolicy.host(authority: text) {
            if Loopback.names(host) { return "did you mean redis://\(text)?" }
            // The text may be a user with a password.
            if host.count < text.count { return "write redis:// before host and port" }
        }
        return "must start with \(schemes.joined(separator: ", "))"
    }

    private static func proxy(_ text: String) -> String? {
        do throws(ProxyURL.FormatError) { _ = try ProxyURL(text) } catch { return error.reason }
        return nil
    }
}

extension Setting.Kind {
    /// The expected form of a value, for messages about a wrong one.
    fileprivate var expectation: String {
        switch self {
        case .redisURL, .origin, .collector, .proxy: return "a URL"
        case .host, .hosts: return "a host name"
        case .integer, .digits: return "a number"
        case .address: return "an address"
        case .choice(let choices): return "one of \(choices.joined(separator: ", "))"
        case .sizes: return "topic=size"
        case .text, .file: return "one line"
        }
    }
}
