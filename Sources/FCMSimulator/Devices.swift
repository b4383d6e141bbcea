/// Devices that were described by name, and groups of them. Every other token is a device of its own accord.
struct Devices: Equatable, Sendable {
    struct Device: Equatable, Sendable {
        enum State: String, Equatable, Sendable { case healthy, unregistered, disabled }

        var platform = Platform.android
        var state = State.healthy
        /// The app's package, when the device has a particular one.
        var package: String?
    }

    static let most = 1_000_000
    static let mostGroups = 100_000
    static let mostMembers = 20

    private var devices: [String: Device] = [:]
    private(set) var groups: [String: [String]] = [:]

    subscript(token: String) -> Device? { devices[token] }

    var names: Dictionary<String, Device>.Keys { devices.keys }

    /// - Returns: false when there are too many already.
    mutating func put(_ token: String, _ device: Device) -> Bool {
        guard devices[token] != nil || devices.count < Self.most else { return false }
        devices[token] = device
        return true
    }

    /// - Returns: false when there are too many already.
    mutating func putGroup(_ key: String, members: [String]) -> Bool {
        guard groups[key] != nil || groups.count < Self.mostGroups else { return false }
        groups[key] = members
        return true
    }
}
