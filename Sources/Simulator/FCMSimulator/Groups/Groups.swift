/// The device groups. A client makes a group with a name in its project. A group described on the control port has a
/// fixed key, no name and no project.
struct Groups: Equatable, Sendable {
    struct Group: Equatable, Sendable {
        /// nil if any project may send to it.
        var project: String?
        /// nil if no client can manage it.
        var name: String?
        /// In the order they joined.
        var members: [String]
        /// The answer names the members if none of them was reached.
        var namesAll = false
    }

    /// The meaning of a recipient's name.
    enum Lookup: Equatable, Sendable {
        case notAGroup
        case group(Group)
        /// A group whose last member was removed.
        case gone
        /// A group of another project.
        case foreign
    }

    static let most = 100_000
    static let maximumMembers = 20

    private let secret: UInt64
    private var made: [UInt64: Group] = [:]
    /// By project and name.
    private var ids: [String: [ExactText: UInt64]] = [:]
    private var described: [ExactText: Group] = [:]
    /// A reset keeps it, so that no old key names a new group.
    private var lastID: UInt64 = 0

    init(seed: UInt64) {
        // Another seed makes other keys.
        secret = seed ^ 0x6772_6F75_7073_2121
    }

    func lookup(_ recipient: String, project: String) -> Lookup {
        if let group = described[recipient] { return .group(group) }
        guard let id = GroupKey.id(in: recipient, secret: secret) else { return .notAGroup }
        guard let group = made[id] else { return .gone }
        return group.project == project ? .group(group) : .foreign
    }

    /// - Returns: false if there are too many groups already.
    mutating func describe(_ key: String, members: [String], namesAll: Bool) -> Bool {
        guard described[key] != nil || described.count < Self.most else { return false }
        described[key] = Group(members: members, namesAll: namesAll)
        return true
    }

    // MARK: Management

    /// Performs a request to `/fcm/notification`, and returns a key of the group that `nonce` makes a new one.
    mutating func perform(
        _ request: GroupRequest,
        project: String,
        devices: Devices,
        nonce: UInt64,
        nowMs: Int64
    ) throws(GroupError) -> String {
        let name = request.name
        let id: UInt64
        switch request.operation {
        case .get:
            guard let known = ids[project]?[name] else { throw .notFound }
            id = known
        case .create:
            let members = try Self.members(request.tokens, devices: devices, nowMs: nowMs)
            guard ids[project]?[name] == nil else { throw .exists }
            guard members.count <= Self.maximumMembers else { throw .tooManyMembers }
            guard made.count < Self.most else { throw .tooManyGroups }
            lastID += 1
            id = lastID
            made[id] = Group(project: project, name: name, members: members)
            ids[project, default: [:]][name] = id
        case .add(let key):
            let members = try Self.members(request.tokens, devices: devices, nowMs: nowMs)
            id = try self.id(project: project, key: key, name: name)
            let old = made[id]?.members ?? []
            let all = old + members.filter { !old.contains($0) }
            guard all.count <= Self.maximumMembers else { throw .tooManyMembers }
            made[id]?.members = all
        case .remove(let key):
            id = try self.id(project: project, key: key, name: name)
            // A member whose registration has ended can still be removed.
            let removed = Set(request.tokens.map { ExactText($0) })
            made[id]?.members.removeAll { removed.contains($0) }
            if made[id]?.members.isEmpty == true {
                made[id] = nil
                ids[project]?[name] = nil
            }
        }
        return GroupKey.make(id: id, nonce: nonce, secret: secret)
    }

    /// The tokens that can join, each once. The others are dropped without an error.
    private static func members(
        _ tokens: [String],
        devices: Devices,
        nowMs: Int64
    ) throws(GroupError) -> [String] {
        var members: [String] = []
        for token in tokens where canJoin(token, devices: devices, nowMs: nowMs) && !members.contains(token) {
            members.append(token)
        }
        guard !members.isEmpty else { throw .noValidTokens }
        return members
    }

    private static func canJoin(_ token: String, devices: Devices, nowMs: Int64) -> Bool {
        guard Recipients.isToken(token) else { return false }
        if case .refused(let failure) = TokenBehaviour(token), failure != .auth { return false }
        return !devices.isGone(token, nowMs: nowMs)
    }

    mutating func removeAll() {
        made = [:]
        ids = [:]
        described = [:]
    }

    private func id(project: String, key: String, name: String) throws(GroupError) -> UInt64 {
        guard let id = GroupKey.id(in: key, secret: secret), let group = made[id], group.project == project else {
            throw .notFound
        }
        guard group.name.isExactly(name) else { throw .nameMismatch }
        return id
    }
}
