/// The settings of a simulator.
public struct SimulatorConfiguration: Equatable, Sendable {
    /// The only projects that exist.
    public var projects: [SimulatedProject]
    /// Decides every random choice, such as message ids and the fraction of a fault.
    public var seed: UInt64
    /// Messages a project may send in 60 seconds; none for 0 and less.
    public var quotaPerMinute: Int
    /// Retryable errors come without `Retry-After`.
    public var bareErrors: Bool
    /// Bad options of a legacy request are answered as the live server was observed to (400 and a sentence), not as its
    /// reference promises (200 and a code per token).
    public var observedLegacyErrors: Bool
    /// Deliveries that are kept for reading; all of them are counted.
    public var deliveryLimit: Int
    /// Recipients a second, over all topic, condition and group sends of a project together.
    public var fanoutRate: Int
    /// A project may have a thousand active fan-outs. A further one waits instead of being refused.
    public var defersFanouts: Bool

    public init(
        projects: [SimulatedProject],
        seed: UInt64 = 1,
        quotaPerMinute: Int = 600_000,
        bareErrors: Bool = false,
        observedLegacyErrors: Bool = false,
        deliveryLimit: Int = 100_000,
        fanoutRate: Int = 10_000,
        defersFanouts: Bool = false
    ) {
        self.projects = projects
        self.seed = seed
        self.quotaPerMinute = quotaPerMinute
        self.bareErrors = bareErrors
        self.observedLegacyErrors = observedLegacyErrors
        self.deliveryLimit = deliveryLimit
        self.fanoutRate = fanoutRate
        self.defersFanouts = defersFanouts
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

    public init(
        id: String,
        senderID: String,
        serverKey: String,
        serviceAccountEmail: String = "",
        appKeys: [String] = []
    ) {
        self.id = id
        self.senderID = senderID
        self.serverKey = serverKey
        self.serviceAccountEmail = serviceAccountEmail
        self.appKeys = appKeys
    }
}
