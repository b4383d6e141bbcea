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

    /// What a recipient's name stands for.
    enum Lookup: Equatable, Sendable {
        case notAGroup
        case group(Group)
        /// A group whose last member was removed.
        case gone
        /// A group of another project.
        case foreign
    }

    enum Refusal: Error, Equatable, Sendable { case exists, notFound, nameMismatch, tooManyMembers, tooManyGroups }

    static let most = 100_000
    static let mostMembers = 20

    private let secret: UInt64
    private var made: [UInt64: Group] = [:]
    /// By project and name.
    private var ids: [String: [String: UInt64]] = [:]
    private var described: [String: Group] = [:]
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

    // MARK: Management. Each answer is a key that was never given before.

    /// Performs a request to `/fcm/notification`.
    ///
    /// - Parameters:
    ///   - project: the project's id.
    ///   - nonce: makes the key differ from every earlier one.
    mutating func perform(
        _ request: GroupRequest,
        project: String,
        devices: Devices,
        nonce: UInt64,
        nowMs: Int64
    ) throws(GroupRefusal) -> String {
        let name = request.name
        do throws(Refusal) {
            switch request.operation {
            case .get: return try key(project: project, name: name, nonce: nonce)
            case .remove(let key):
                // A member whose registration has ended can still be removed.
                return try remove(request.tokens, project: project, key: key, name: name, nonce: nonce)
            case .create:
                let members = Self.members(request.tokens, devices: devices, nowMs: nowMs)
                guard !members.isEmpty else { break }
                return try create(project: project, name: name, members: members, nonce: nonce)
            case .add(let key):
                let members = Self.members(request.tokens, devices: devices, nowMs: nowMs)
                guard !members.isEmpty else { break }
                return try add(members, project: project, key: key, name: name, nonce: nonce)
            }
        } catch {
            throw GroupRefusal(error)
        }
        throw .noValidTokens
    }

    /// The tokens that can join, each once. The others are dropped without an error.
    private static func members(_ tokens: [String], devices: Devices, nowMs: Int64) -> [String] {
        var members: [String] = []
        for token in tokens where canJoin(token, devices: devices, nowMs: nowMs) && !members.contains(token) {
            members.append(token)
        }
        return members
    }

    private static func canJoin(_ token: String, devices: Devices, nowMs: Int64) -> Bool {
        guard Recipients.isToken(token) else { return false }
        switch TokenBehaviour(token) {
        case .unregistered, .invalid, .mismatch: return false
        case .healthy, .auth, .canonical, .retryable, .slow, .lost: return !devices.isGone(token, nowMs: nowMs)
        }
    }

    mutating func create(project: String, name: String, members: [String], nonce: UInt64) throws(Refusal) -> String {
        guard ids[project]?[name] == nil else { throw .exists }
        guard members.count <= Self.mostMembers else { throw .tooManyMembers }
        guard made.count < Self.most else { throw .tooManyGroups }
        lastID += 1
        made[lastID] = Group(project: project, name: name, members: members)
        ids[project, default: [:]][name] = lastID
        return GroupKey.make(id: lastID, nonce: nonce, secret: secret)
    }

    mutating func add(
        _ members: [String],
        project: String,
        key: String,
        name: String,
        nonce: UInt64
    ) throws(Refusal) -> String {
        let id = try id(project: project, key: key, name: name)
        let old = made[id]?.members ?? []
        let all = old + members.filter { !old.contains($0) }
        guard all.count <= Self.mostMembers else { throw .tooManyMembers }
        made[id]?.members = all
        return GroupKey.make(id: id, nonce: nonce, secret: secret)
    }

    /// Ignores tokens that are no members. Without its last member a group is gone, and its name is free.
    mutating func remove(
        _ members: [String],
        project: String,
        key: String,
        name: String,
        nonce: UInt64
    ) throws(Refusal) -> String {
        let id = try id(project: project, key: key, name: name)
        made[id]?.members.removeAll { members.contains($0) }
        if let group = made[id], group.members.isEmpty {
            made[id] = nil
            if let name = group.name { ids[project]?[name] = nil }
        }
        return GroupKey.make(id: id, nonce: nonce, secret: secret)
    }

    func key(project: String, name: String, nonce: UInt64) throws(Refusal) -> String {
        guard let id = ids[project]?[name] else { throw .notFound }
        return GroupKey.make(id: id, nonce: nonce, secret: secret)
    }

    mutating func removeAll() {
        made = [:]
        ids = [:]
        described = [:]
    }

    private func id(project: String, key: String, name: String) throws(Refusal) -> UInt64 {
        guard let id = GroupKey.id(in: key, secret: secret), let group = made[id], group.project == project else {
            throw .notFound
        }
        // A described group has no name.
        guard group.name == nil || name == group.name else { throw .nameMismatch }
        return id
    }
}
