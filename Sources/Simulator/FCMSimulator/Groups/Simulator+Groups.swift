import FanfareJSON
internal import FanfareModel

extension Simulator {
    /// `/fcm/notification`: makes a group, changes its members, or returns its key.
    mutating func answerGroups(
        _ request: SimulatorRequest,
        change: Result<GroupRequest, GroupError>,
        now: Int64
    ) -> SimulatorReply {
        guard let project = credentials.legacyProject(of: request, nowMs: callersTime(now)) else {
            return credentials.unauthorized(request)
        }
        guard request.projectIDHeader != nil else { return GroupError.missing("project_id").reply }
        do throws(GroupError) {
            let change = try change.get()
            let nonce = ids.random.next()
            let key = try groups.perform(change, project: project.id, devices: devices, nonce: nonce, nowMs: now)
            return SimulatorReply(object: ["notification_key": .string(key)])
        } catch {
            return error.reply
        }
    }
}
