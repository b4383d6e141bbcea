/// What a simulator is told once, at its start.
public struct SimulatorConfiguration: Equatable, Sendable {
    /// The only projects that exist.
    public var projects: [SimulatedProject]
    /// Every random choice (message ids, the fraction of a fault) follows from this.
    public var seed: UInt64
    /// Messages a project may send in 60 seconds; 0 and less: none at all.
    public var quotaPerMinute: Int
    /// Retryable errors come without `Retry-After`.
    public var bareErrors: Bool
    /// Bad options of a legacy request are answered as the live server was seen to (400 and a sentence), not as its
    /// reference promises (200 and a code per token).
    public var observedLegacyErrors: Bool
    /// The deliveries kept for reading; counting goes on beyond it.
    public var deliveryLimit: Int
    /// Recipients a second that all topic, condition and group sends of a project reach together.
    public var fanoutRate: Int
    /// A fan-out beyond the thousand that a project may have under way waits, rather than being refused.
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
    /// The service account that may send for this project; empty when nobody may.
    public var serviceAccountEmail: String
    /// Keys of the project's Android, Apple and browser apps. They open no protocol, whatever they look like.
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
