internal import FanfareModel

/// The variables that Kubernetes and Docker set for each service, which are no settings. For a service
/// `fanfare-projects-demo`: `FANFARE_PROJECTS_DEMO_SERVICE_HOST`, `…_SERVICE_PORT`, `…_SERVICE_PORT_HTTP`,
/// `…_PORT=tcp://10.0.48.109:8490`, `…_PORT_8490_TCP`, `…_PORT_8490_TCP_ADDR` and the like.
enum ServiceLinks {
    private static let protocols = ["tcp", "udp", "sctp"]

    /// The environment without them.
    static func removed(from environment: [String: String]) -> [String: String] {
        environment.filter { name, value in
            if name.hasSuffix("_PORT"), isLink(value) { return false }
            if isPortOfLink(name) { return false }
            // A project whose id ends with `-service` has settings of these names, and no link.
            return service(of: name).flatMap { environment[$0 + "_PORT"] }.map(isLink) != true
        }
    }

    /// The service, in capitals, of a variable such as `NAME_SERVICE_HOST` or `NAME_SERVICE_PORT_HTTP`; nil for others.
    static func service(of name: String) -> String? {
        if name.hasSuffix("_SERVICE_HOST") { return String(name.dropLast("_SERVICE_HOST".count)) }
        guard let suffix = name.ranges(of: "_SERVICE_PORT").last,
            suffix.upperBound == name.endIndex || name[suffix.upperBound] == "_"
        else { return nil }
        return String(name[..<suffix.lowerBound])
    }

    /// Whether a value is the URL of a service, such as `tcp://10.0.48.109:8490`.
    private static func isLink(_ value: String) -> Bool { protocols.contains { value.hasPrefix("\($0)://") } }

    /// Whether a variable is `NAME_PORT_8490_TCP`, or begins so.
    private static func isPortOfLink(_ name: String) -> Bool {
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        return words.indices.dropLast(2).contains { at in
            words[at] == "PORT" && !words[at + 1].isEmpty && words[at + 1].utf8.allSatisfy(\.isASCIIDigit)
                && protocols.contains(words[at + 2].lowercased())
        }
    }
}
