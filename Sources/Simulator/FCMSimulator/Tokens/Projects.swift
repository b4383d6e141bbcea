/// The projects that exist, by each of their names and secrets.
struct Projects: Sendable {
    let all: [SimulatedProject]
    private let byName: [String: SimulatedProject]
    private let byServerKey: [String: SimulatedProject]

    init(_ all: [SimulatedProject]) {
        self.all = all
        byName = Dictionary(
            all.flatMap { [($0.id, $0), ($0.senderID, $0)] },
            uniquingKeysWith: { _, last in last }
        )
        byServerKey = Dictionary(all.map { ($0.serverKey, $0) }, uniquingKeysWith: { _, last in last })
    }

    /// - Parameter name: a project id or a sender id.
    subscript(name: String) -> SimulatedProject? { byName[name] }

    func project(serverKey: String) -> SimulatedProject? { byServerKey[serverKey] }

    func project(serviceAccount email: String) -> SimulatedProject? {
        all.first { $0.serviceAccountEmail == email }
    }
}
