/// The media types that a client reads: its `Accept` header (RFC 9110, 12.5.1).
public struct AcceptedTypes: Equatable, Sendable {
    private struct Range: Equatable {
        var type: String
        var subtype: String
        /// 0 to 1; 0 excludes the type.
        var weight: Double
    }

    private let ranges: [Range]

    /// - Parameter header: nil or empty for a client that reads every type. Ranges without a slash are left out.
    public init(_ header: String?) {
        ranges = (header ?? "").lowercased().split(separator: ",").prefix(32).compactMap { text in
            let parts = text.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            let names = parts.first?.split(separator: "/", omittingEmptySubsequences: false) ?? []
            guard names.count == 2 else { return nil }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return Range(type: String(names[0]), subtype: String(names[1]), weight: min(max(weight ?? 1, 0), 1))
        }
    }

    /// The type that the client likes most, of equals the first; nil if it reads none of them.
    ///
    /// - Parameter types: in lower case, without parameters.
    public func preferred(of types: [String]) -> String? {
        var best: (type: String, weight: Double)?
        for type in types {
            let weight = weight(of: type)
            if weight > best?.weight ?? 0 { best = (type, weight) }
        }
        return best?.type
    }

    /// Of the ranges that match, the most specific one counts.
    private func weight(of type: String) -> Double {
        guard !ranges.isEmpty else { return 1 }
        let names = type.split(separator: "/").map(String.init)
        let pairs = [(names[0], names[1]), (names[0], "*"), ("*", "*")]
        for (type, subtype) in pairs {
            if let range = ranges.first(where: { $0.type == type && $0.subtype == subtype }) { return range.weight }
        }
        return 0
    }
}
