internal import FanfareModel

/// A key of the gateway: what requests with it may do. It holds the digest of the key, or the public key of a service
/// account, and nothing secret.
public struct GatewayKey: Equatable, Sendable {
    public enum Right: String, CaseIterable, Sendable {
        /// Pushes jobs.
        case push
        /// Reads jobs and results.
        case read
        /// Cancels, pauses and resumes jobs.
        case operate
    }

    /// How a request proves that it has the key.
    public enum Proof: Hashable, Sendable {
        /// It shows the key itself, of which this is the digest.
        case digest(KeyDigest)
        /// It shows an ``AccessAssertion`` that the private half of this key has signed.
        case account(PublicKeyText)
    }

    /// Logs and metrics show it.
    public var name: String
    public var proof: Proof
    /// The ids of the projects that the key may use, at least one.
    public var projects: [String]
    public var rights: Set<Right>
    /// Requests a minute; nil for no limit.
    public var rate: Int?
    /// The highest `priority` of its jobs.
    public var maximumPriority: Int

    /// Every key that Fanfare makes begins so.
    public static let prefix = "ffk_"
    public static let namePattern = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
    public static let rates: ClosedRange<Int64> = 1...1_000_000_000
    public static let priorities: ClosedRange<Int64> = 0...9
    public static let defaultRights: Set<Right> = [.push]
    public static let maximumProjects = 1_000

    public init(
        name: String,
        proof: Proof,
        projects: [String],
        rights: Set<Right> = GatewayKey.defaultRights,
        rate: Int? = nil,
        maximumPriority: Int = 9
    ) {
        (self.name, self.proof, self.projects, self.rights) = (name, proof, projects, rights)
        (self.rate, self.maximumPriority) = (rate, maximumPriority)
    }

    /// Whether a text matches ``namePattern`` and is not a key itself, which no log may show.
    public static func isValidName(_ name: String) -> Bool {
        guard let first = name.utf8.first, first.isASCIIAlphanumeric, name.utf8.count <= 64 else { return false }
        return name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) } && !isKey(name)
    }

    /// Whether a text is a key that Fanfare made, or the beginning of one.
    public static func isKey(_ text: String) -> Bool { text.hasPrefix(prefix) }

    private static let accountDomain = "@fanfare-gateway.internal"

    /// The `client_email` of a service account, which its assertions name as their issuer. No two keys have the same name.
    public static func email(ofAccount name: String) -> String { name + accountDomain }

    /// The name of the key of an issuer; nil for an issuer that is no account of a gateway.
    static func name(ofIssuer email: String) -> String? {
        email.hasSuffix(accountDomain) ? String(email.dropLast(accountDomain.count)) : nil
    }

    /// The public key of a service account; nil for any other key.
    public var publicKey: PublicKeyText? {
        if case .account(let key) = proof { return key }
        return nil
    }

    /// - Throws: ``KeyFault/project`` or ``KeyFault/right(_:)`` for a request that the key does not allow.
    public func permit(_ right: Right, on project: String) throws(KeyFault) {
        guard projects.contains(project) else { throw .project }
        guard rights.contains(right) else { throw .right(right) }
    }

    /// The project of a request that names none, as over the legacy protocol.
    /// - Throws: ``KeyFault/severalProjects(key:_:)``.
    public func onlyProject() throws(KeyFault) -> String {
        guard projects.count == 1 else { throw .severalProjects(key: name, projects) }
        return projects[0]
    }
}

/// Why a request is refused for its key. Seconds are for `Retry-After`, 1 to 30: some clients do not repeat after more.
public enum KeyFault: Error, Equatable, Sendable {
    /// The request has no key.
    case missing
    /// No key of the gateway is equal.
    case wrong
    /// The key may not use this project.
    case project
    /// An access token whose hour is over. A new one is accepted.
    case expired
    /// The request names no project, and the key has these.
    case severalProjects(key: String, [String])
    /// The key lacks this right.
    case right(GatewayKey.Right)
    /// The key has made all requests that its rate allows for now.
    case rate(retrySeconds: Int)
    /// The address has tried too many wrong keys.
    case address(retrySeconds: Int)

    /// Whole seconds of a wait, rounded up, 1 to 30.
    static func retrySeconds(_ waitNs: UInt64) -> Int {
        Int(min(30, max(1, waitNs.adding(999_999_999) / 1_000_000_000)))
    }
}
