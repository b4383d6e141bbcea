/// The settings of a simulator.
public struct SimulatorConfiguration: Equatable, Sendable {
    /// The only projects that exist.
    public var projects: [SimulatedProject]
    /// Decides every random choice, such as message ids and the fraction of a fault.
    public var seed: UInt64 = 1
    /// Messages a project may send in 60 seconds; none for 0 and less.
    public var quotaPerMinute = 600_000
    /// Retryable errors come without `Retry-After`.
    public var bareErrors = false
    /// Bad options of a legacy request are answered as the live server was observed to (400 and a sentence), not as its
    /// reference promises (200 and a code per token).
    public var observedLegacyErrors = false
    /// Deliveries that are kept for reading; all of them are counted.
    public var deliveryLimit = 100_000
    /// Recipients a second, over all topic, condition and group sends of a project together.
    public var fanoutRate = 10_000
    /// A project may have a thousand active fan-outs. A further one waits instead of being refused.
    public var defersFanouts = false
    /// Values that the `aud` of an assertion may have.
    public var tokenAudiences: Set<String> = []
    /// Seconds that a new access token lives, by the caller's clock.
    public var tokenLifetimeSeconds: Int64 = 3_600

    public init(projects: [SimulatedProject]) {
        self.projects = projects
    }
}

/// One FCM project and its secrets.
public struct SimulatedProject: Equatable, Sendable {
    public var id: String
    /// The project number, which is also the sender id.
    public var senderID: String
    /// The legacy key of the header `Authorization: key=`.
    public var serverKey: String
    /// The service account that may send for this project; empty for none.
    public var serviceAccountEmail: String
    /// Keys of the project's Android, Apple and browser apps. No protocol accepts them.
    public var appKeys: [String]
    /// Identities without a service account's key; nil for none.
    public var identity: SimulatedIdentity?

    public init(
        id: String,
        senderID: String,
        serverKey: String,
        serviceAccountEmail: String = "",
        appKeys: [String] = [],
        identity: SimulatedIdentity? = nil
    ) {
        self.id = id
        self.senderID = senderID
        self.serverKey = serverKey
        self.serviceAccountEmail = serviceAccountEmail
        self.appKeys = appKeys
        self.identity = identity
    }
}

extension [SimulatedProject] {
    /// - Parameter name: a project id or a sender id.
    subscript(name: String) -> SimulatedProject? { first { $0.id.isExactly(name) || $0.senderID.isExactly(name) } }
}
