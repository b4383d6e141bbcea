internal import FanfareModel

/// What a pool shares with the others of its ``PoolGroup``.
extension LanePool {
    /// Closes the connection of a lane whose requests have ended.
    func close(_ lane: Lane) {
        lane.close()
        group.closedLane(lane.id)
    }

    // MARK: Answers

    /// Charges the bytes of the lane's unfinished answers.
    func charge(_ lane: Lane) {
        guard let connection = lane.connection, connection.heldBytes != lane.chargedBytes else { return }
        lane.chargedBytes = connection.heldBytes
        let largest = connection.largestAnswer?.bytes ?? 0
        group.charge(lane.id, AnswerBudget.Holding(bytes: lane.chargedBytes, largest: largest))
    }

    /// Ends the request with the lane's largest answer, which stays incomplete.
    func cutLargestAnswer(ofLane id: Int) {
        guard let lane = (lanes + retiring).first(where: { $0.id == id }),
            let largest = lane.connection?.largestAnswer
        else { return }
        let reason: Reason = "the answers of all requests together passed \(group.answers.maximumBytes) bytes"
        cancel(largest.number, on: lane, reason: reason, as: .cut(isMultiplexed: nil))
    }

    // MARK: Lanes

    func lanesOpened(sinceMs: Int64) -> Int { lanes.count { $0.state.openedAtMs >= sinceMs } }

    /// The ready lanes: closing one that has not answered yet would count as a failure of the origin.
    func laneCandidates(pool: Int) -> [LaneSharing.Candidate] {
        lanes.filter { $0.state.phase == .ready }.map { lane in
            LaneSharing.Candidate(
                pool: pool,
                lane: lane.id,
                isIdle: lane.state.inFlight == 0,
                openedAtMs: lane.state.openedAtMs
            )
        }
    }

    /// Closes a lane, after the requests that it carries.
    func giveUp(lane id: Int) {
        guard let lane = lanes.first(where: { $0.id == id }) else { return }
        lane.state.retire()
        enlist(lane)
        scheduleTurn()
    }
}
