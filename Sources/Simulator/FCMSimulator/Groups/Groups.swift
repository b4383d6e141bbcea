/// Device groups: those that a client made, each with a name in its project, and those described on the control port,
/// which have a fixed key, no name and no project.
struct Groups: Equatable, Sendable {
    struct Group: Equatable, Sendable {
        /// nil: any project may send to it.
        var project: String?
        /// nil: nobody can manage it.
        var name: String?
        /// In the order they joined.
        var members: [String]
        /// Whether an answer that no member was reached names the members.
        var namesAll = false
    }

    /// What a recipient turns out to be.
    enum Lookup: Equatable, Sendable {
        case notAGroup
        case group(Group)
        /// Its last member was removed.
        case gone
        /// Another project's.
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
    /// Grows over a reset too, so that no old key names a new group.
    private var lastID: UInt64 = 0

    init(seed: UInt64) {
        // Keys of one seed are not those of another.
        secret = seed ^ 0x6772_6F75_7073_2121
    }

    func lookup(_ recipient: String, project: String) -> Lookup {
        if let group = described[recipient] { return .group(group) }
        guard let id = GroupKey.id(in: recipient, secret: secret) else { return .notAGroup }
        guard let group = made[id] else { return .gone }
        return group.project == project ? .group(group) : .foreign
    }

    /// - Returns: false when there are too many already.
    mutating func describe(_ key: String, members: [String], namesAll: Bool) -> Bool {
        guard described[key] != nil || described.count < Self.most else { return false }
        described[key] = Group(members: members, namesAll: namesAll)
        return true
    }

    // MARK: Management. Each answers with a key that was never seen before.

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

    /// Who is no member is passed over. Without its last member a group is gone, and its name free.
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
        // A group that a test described has no name, so there is nothing to compare.
        guard group.name == nil || name == group.name else { throw .nameMismatch }
        return id
    }
}
