internal import FanfareJSON
internal import FanfareModel

/// Counts of a device group's members in an answer.
struct GroupCounts: Equatable, Sendable {
    var success: Int64
    var failure: Int64
    /// Members that did not get it, without reasons; may be fewer than ``failure``.
    var failedTokens: [String]

    /// Nil when the object has no counts.
    init?(_ object: JSONObject) {
        guard let success = object["success"]?.number?.wholeInt64, success >= 0,
            let failure = object["failure"]?.number?.wholeInt64, failure >= 0
        else { return nil }
        self.success = success
        self.failure = failure
        failedTokens = (object["failed_registration_ids"]?.array ?? []).compactMap(\.string).filter(TokenText.isToken)
    }

    /// The verdict on a send to the group: members that FCM names as not reached are sent to one by one. If none was
    /// reached and not all are named, the group is tried again as a whole: otherwise the members without a name would
    /// be left out.
    ///
    /// - Parameter none: the verdict when no member got it.
    func verdict(messageID: String, httpStatus: Int, none: @autoclosure () -> Verdict) -> Verdict {
        switch (success, failure) {
        case (0, 0): return .failed(Failure(error: .emptyGroup, action: .none, httpStatus: httpStatus))
        case (0, _): return naming(none())
        case (_, 0) where failedTokens.isEmpty: return .sent(messageID: messageID, canonical: nil)
        default: return .sentPartly(messageID: messageID, failedTokens: failedTokens)
        }
    }

    /// A verdict on a send that reached no member, with the members' names if the answer has all of them.
    func naming(_ verdict: Verdict) -> Verdict {
        guard case .retry(var retry) = verdict, success == 0, failure > 0, Int64(failedTokens.count) >= failure else {
            return verdict
        }
        retry.members = failedTokens
        return .retry(retry)
    }
}
