/// Devices that were described by name, and who subscribed to what. Every other token is a device of its own accord.
struct Devices: Equatable, Sendable {
    struct Device: Equatable, Sendable {
        enum State: String, Equatable, Sendable { case healthy, unregistered, disabled }

        var platform = Platform.android
        var state = State.healthy
        /// The app's package, when the device has a particular one.
        var package: String?
        var topics: Set<String> = []
    }

    static let most = 1_000_000

    private var devices: [String: Device] = [:]
    private var subscribers: [String: Set<String>] = [:]
    private(set) var groups: [String: [String]] = [:]

    subscript(token: String) -> Device? { devices[token] }

    /// - Returns: false when there are too many already.
    mutating func put(_ token: String, _ device: Device) -> Bool {
        guard devices[token] != nil || devices.count < Self.most else { return false }
        for topic in devices[token]?.topics ?? [] { subscribers[topic]?.remove(token) }
        for topic in device.topics { subscribers[topic, default: []].insert(token) }
        devices[token] = device
        return true
    }

    mutating func makeGroup(_ key: String, members: [String]) {
        groups[key] = members
    }

    /// In a fixed order, so that a run can be repeated.
    func tokens(topic: String) -> [String] {
        (subscribers[topic] ?? []).sorted()
    }

    func tokens(matching condition: Condition) -> [String] {
        // A negation may match devices without any of the topics, so all are asked.
        devices.filter { condition.matches($0.value.topics) }.keys.sorted()
    }
}
