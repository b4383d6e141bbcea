import FanfareJSON

/// What became of a message to a group.
enum GroupOutcome: Equatable, Sendable {
    /// The project has too many fan-outs under way.
    case tooMany
    /// The group has no members.
    case empty
    /// No member could take the message.
    ///
    /// - Parameters:
    ///   - failed: all members, in the group's order.
    ///   - areGone: all of them have unregistered.
    ///   - areNamed: the answer is to name them.
    case failed([String], areGone: Bool, areNamed: Bool)
    /// - Parameter failed: the members that could not take it, in the group's order.
    case sent(success: Int, failed: [String])
}

extension Simulator {
    mutating func answerGroups(
        _ request: SimulatorRequest,
        change: Result<GroupRequest, GroupRefusal>,
        now: Int64
    ) -> SimulatorReply {
        guard let project = legacyProject(request, now: now) else {
            return unauthorized(request)
        }
        guard request.projectIDHeader != nil else { return GroupRefusal.missing("project_id").reply }
        do throws(GroupRefusal) {
            let key = try apply(try change.get(), project: project.id, now: now)
            return SimulatorReply(status: 200, json: JSONValue.object(["notification_key": .string(key)]).jsonBytes)
        } catch {
            return error.reply
        }
    }

    private mutating func apply(_ change: GroupRequest, project: String, now: Int64) throws(GroupRefusal) -> String {
        let nonce = random.next()
        do throws(Groups.Refusal) {
            switch change.operation {
            case .get: return try groups.key(project: project, name: change.name, nonce: nonce)
            case .remove(let key):
                // Who has unregistered must still be removable.
                return try groups.remove(change.tokens, project: project, key: key, name: change.name, nonce: nonce)
            case .create:
                guard let members = members(of: change, now: now) else { break }
                return try groups.create(project: project, name: change.name, members: members, nonce: nonce)
            case .add(let key):
                guard let members = members(of: change, now: now) else { break }
                return try groups.add(members, project: project, key: key, name: change.name, nonce: nonce)
            }
        } catch {
            throw GroupRefusal(error)
        }
        throw .noValidTokens
    }

    /// The tokens that can join, each once; nil when none can. The others are dropped without a word.
    private func members(of change: GroupRequest, now: Int64) -> [String]? {
        var members: [String] = []
        for token in change.tokens where canJoin(token, now: now) && !members.contains(token) { members.append(token) }
        return members.isEmpty ? nil : members
    }

    private func canJoin(_ token: String, now: Int64) -> Bool {
        guard Recipients.isToken(token) else { return false }
        switch TokenBehaviour(token) {
        case .unregistered, .invalid, .mismatch: return false
        case .healthy, .auth, .canonical, .retryable, .slow, .lost: break
        }
        return !devices.isGone(token, nowMs: now)
    }

    /// - Parameter isTrial: everybody is asked and nobody gets anything.
    mutating func send(
        toGroup key: String,
        _ group: Groups.Group,
        traits: MessageTraits,
        source: Delivery.Source,
        isTrial: Bool,
        project: SimulatedProject,
        now: Int64
    ) -> GroupOutcome {
        let refusals: [(token: String, reason: DeviceRefusal)]
        if isTrial {
            refusals = group.members.compactMap { member in
                guard case .refused(let reason) = ask(member, traits: traits, project: project, isTrial: true, now: now)
                else {
                    return nil
                }
                return (member, reason)
            }
        } else {
            let id = messageID(.android, now: now)
            guard
                startGroupFanout(key, members: group.members.count, messageID: id, project: project, now: now)
            else { return .tooMany }
            refusals = deliver(
                to: group.members,
                traits: traits,
                source: source,
                messageID: id,
                project: project,
                now: now
            )
        }
        if group.members.isEmpty { return .empty }
        if refusals.count == group.members.count {
            let areGone = refusals.allSatisfy(\.reason.isUnregistered)
            return .failed(group.members, areGone: areGone, areNamed: group.namesAll)
        }
        return .sent(success: group.members.count - refusals.count, failed: refusals.map(\.token))
    }
}

extension DeviceRefusal {
    var isUnregistered: Bool { legacyCode == "NotRegistered" }
}
