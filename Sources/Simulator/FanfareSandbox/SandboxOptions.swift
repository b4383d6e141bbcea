import FanfareModel

/// The settings of a sandbox, one for each flag of its command.
public struct SandboxOptions: Equatable, Sendable {
    /// The TLS port of all HTTP services; 0 for a free one.
    public var port = 8443
    /// Plain HTTP; 0 for a free one.
    public var controlPort = 8480
    /// The address the control port listens on. Beyond loopback only in a network of its own, as a container has: the
    /// control port asks for no password.
    public var controlListen = "127.0.0.1"
    /// The `token_uri` of the service accounts; nil is `/token` at `localhost` and ``port``. An `https` URL whose host the
    /// certificate names.
    public var tokenURI: String?
    /// The XMPP port; 0 for a free one. nil is ``defaultXMPPPort``, or a free one if ``port`` is 0.
    public var xmppPort: Int?
    /// The address the TLS ports listen on.
    public var listen = "127.0.0.1"
    /// The folder for certificates and credentials; made if it is missing.
    public var stateDirectory: String
    /// Project ids, `[a-z0-9][a-z0-9-]{0,62}`, at least one.
    public var projects: [String]
    public var seed: UInt64 = 1
    public var quotaPerMinute = 600_000
    /// Retryable errors come without `Retry-After`.
    public var bareErrors = false
    /// Seconds an access token lives; 1 to 3600.
    public var tokenLifetimeSeconds = 3_600
    /// Recipients a second, over all topic, condition and group sends of a project together.
    public var fanoutRate = 10_000
    /// A project may have a thousand active fan-outs. A further one waits instead of being refused.
    public var deferFanouts = false
    /// Event loops that serve the TLS ports.
    public var threads = 2

    /// FCM's own port for trials.
    public static let defaultXMPPPort = 5_236

    public init(stateDirectory: String, projects: [String]) {
        self.stateDirectory = stateDirectory
        self.projects = projects
    }

    /// - Throws: ``SandboxError`` that names the first setting out of range.
    public func check() throws(SandboxError) {
        func within(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(SandboxError) {
            if !range.contains(value) {
                throw SandboxError("\(name): \(value) is not within \(range.lowerBound) to \(range.upperBound)")
            }
        }
        try within("port", port, 0...65_535)
        try within("control-port", controlPort, 0...65_535)
        try within("xmpp-port", xmppPort ?? 0, 0...65_535)
        try within("quota-per-minute", quotaPerMinute, 0...1_000_000_000)
        try within("token-lifetime", tokenLifetimeSeconds, 1...3_600)
        try within("fanout-rate", fanoutRate, 1...100_000_000)
        try within("threads", threads, 1...64)
        if let tokenURI { try Self.check(tokenURI: tokenURI) }
        guard !projects.isEmpty else { throw SandboxError("project: at least one") }
        for project in projects {
            guard ProjectID.isValid(project) else {
                throw SandboxError("project: \(project) is not of the form \(ProjectID.pattern)")
            }
        }
        guard Set(projects).count == projects.count else { throw SandboxError("project: named twice") }
    }

    private static func check(tokenURI: String) throws(SandboxError) {
        let parts = tokenURI.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        let authority = parts.count == 3 ? parts[2].prefix { $0 != "/" } : ""
        guard parts.first == "https:", tokenURI.hasSuffix("/token") else {
            throw SandboxError("token-uri: \(tokenURI) is not of the form https://HOST[:PORT]/token")
        }
        let names = ServerCertificate.hostNames
        let host = authority.prefix { $0 != ":" }
        guard names.contains(String(host)) else {
            throw SandboxError("token-uri: the certificate does not name \(host); use \(names.joined(separator: ", "))")
        }
    }
}

/// Why a sandbox does not start.
public struct SandboxError: Error, Equatable, Sendable, CustomStringConvertible {
    public var description: String
    /// The options are valid, but an address cannot be listened on.
    public var isUnavailable: Bool

    init(_ description: String, isUnavailable: Bool = false) {
        self.description = description
        self.isUnavailable = isUnavailable
    }
}
