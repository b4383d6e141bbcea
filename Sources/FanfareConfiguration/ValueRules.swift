/// Checks one value against its kind.
struct ValueRules {
    let hosts: HostPolicy

    /// Why the value is refused; nil when it is fine. The answer never repeats a value that may be secret.
    func refusal(of value: SourcedValue, kind: Setting.Kind) -> String? {
        for text in value.texts {
            if text.utf8.count > 4_096 { return "\(text.utf8.count) bytes, at most 4096" }
            if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
                return "holds a control character"
            }
        }
        switch kind {
        case .text: return value.text.isEmpty ? "empty" : nil
        case .file: return value.text.isEmpty ? "empty" : nil
        case .integer(let range): return Self.integer(value.text, range)
        case .choice(let choices):
            return choices.contains(value.text) ? nil : "\(value.text) is none of \(choices.joined(separator: ", "))"
        case .origin: return hosts.refusal(of: value.text, allowsPath: false)
        case .host: return hosts.refusal(ofHost: value.text)
        case .digits: return Self.digits(value.text)
        case .redisURL: return Self.redisURL(value.text)
        case .proxy: return Self.proxy(value.text)
        case .address: return ListenAddress(value.text) == nil ? "must be host:port or unix:///path" : nil
        case .hosts:
            for host in value.texts where !HostPolicy.isHostName(host) {
                return "\(host) is not a host name (no scheme, no port)"
            }
            return nil
        }
    }

    private static func integer(_ text: String, _ range: ClosedRange<Int64>) -> String? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2D }), let number = Int64(text) else {
            return "\(text) is not a whole number"
        }
        return range.contains(number) ? nil : "\(number), must be \(range.lowerBound) to \(range.upperBound)"
    }

    private static func digits(_ text: String) -> String? {
        let isNumber = (1...32).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isNumber ? nil : "\(text) is not 1 to 32 digits"
    }

    private static func redisURL(_ text: String) -> String? {
        let schemes = [
            "redis://", "rediss://", "unix://", "redis-sentinel://", "rediss-sentinel://", "redis-cluster://",
            "rediss-cluster://",
        ]
        return schemes.contains { text.hasPrefix($0) } ? nil : "must start with \(schemes.joined(separator: ", "))"
    }

    private static func proxy(_ text: String) -> String? {
        guard text.hasPrefix("http://"), HostPolicy.host(authority: String(text.dropFirst(7))) != nil else {
            return "must be http://host:port"
        }
        return nil
    }
}
