internal import FanfareModel

/// The progress of a send to a device group whose members are sent to one by one, because FCM did not reach them all.
/// Redis keeps it in place of the group's key.
struct GroupProgress: Equatable, Sendable {
    /// The group's `notification_key`.
    var key: String
    /// Of the answer for the group.
    var messageID: String
    /// Members to be sent to once more.
    var pending: [String]
    /// Members whose last attempt failed for good, with the errors that say why.
    private(set) var failed: [Member] = []
    /// Whether at least one member has got the message.
    private(set) var isReached = true

    struct Member: Equatable, Sendable {
        var token: String
        /// Nil when the tries were over.
        var error: ErrorCode?
        /// The app should forget the token.
        var isDead: Bool
        /// Whether FCM did not answer an attempt that may have left the worker.
        var isUnknown = false
    }

    /// Counts an attempt to reach a member. A member with an unknown outcome counts as not reached, or the result would
    /// not name it.
    ///
    /// - Returns: the retry that the verdict asks for; nil for a final one.
    mutating func apply(_ verdict: Verdict, to token: String) -> Retry? {
        switch verdict {
        case .retry(let retry): return retry
        case .refreshCredential(let failure), .blockProject(let failure):
            return Retry(failure: failure, cause: .refused, floorMs: 1_000, countsAttempt: false)
        case .sent, .sentPartly, .managed, .listed:
            remove(token)
            isReached = true
        case .failed(let failure):
            remove(token)
            failed.append(Member(token: token, error: failure.error, isDead: failure.action == .remove))
        case .unknown:
            remove(token)
            failed.append(Member(token: token, error: nil, isDead: false, isUnknown: true))
        }
        return nil
    }

    /// The tries are over.
    mutating func giveUp() {
        failed += pending.map { Member(token: $0, error: nil, isDead: false) }
        pending = []
    }

    var failedTokens: [String] { failed.map(\.token) }

    /// The error of a group of which no member was reached; nil if one was, or may have been.
    ///
    /// - Parameter httpStatus: of FCM's answer for the group.
    func failure(httpStatus: Int) -> Failure? {
        guard !isReached, !failed.contains(where: \.isUnknown) else { return nil }
        let raw = "failed_registration_ids"
        if !failed.isEmpty, failed.allSatisfy(\.isDead) {
            return Failure(error: .emptyGroup, action: .none, rawError: raw, httpStatus: httpStatus)
        }
        // If a member ran out of retries, the group counts as unavailable. Otherwise the last error of a member that is
        // not dead counts.
        let isGivenUp = failed.contains { $0.error == nil }
        let error = isGivenUp ? nil : failed.last { !$0.isDead }?.error
        return Failure(
            error: error ?? .unavailable,
            action: error?.actionForGroup ?? .none,
            rawError: raw,
            httpStatus: httpStatus
        )
    }

    private mutating func remove(_ token: String) {
        if let at = pending.firstIndex(of: token) { pending.remove(at: at) }
    }
}

extension ErrorCode {
    /// The action for a group whose members were refused with this error and are not dead.
    fileprivate var actionForGroup: RemedyAction {
        switch self {
        case .invalidArgument: .fixMessage
        case .senderIDMismatch, .thirdPartyAuthError: .fixCredentials
        case .unregistered, .quotaExceeded, .unavailable, .internalError, .unspecified, .transport, .emptyGroup,
            .tooManyTopics:
            .none
        }
    }
}

extension GroupProgress {
    /// As it is kept: key, pending and failed members, and the message's id, which may hold anything. Keys and tokens
    /// have neither blanks nor commas nor exclamation marks. A comma before the pending members says that no member was
    /// reached yet; a question mark stands for the error of an unknown outcome. Older workers ignore both.
    var text: String {
        let lost = failed.map { member in
            "\(member.token)!\(member.isUnknown ? "?" : member.error?.rawValue ?? "")!\(member.isDead ? "1" : "0")"
        }
        let open = (isReached ? "" : ",") + pending.joined(separator: ",")
        return "\(key) \(open) \(lost.joined(separator: ",")) \(messageID)"
    }

    /// Nil for a group that was not sent to yet: a bare key.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        key = String(parts[0])
        isReached = !parts[1].hasPrefix(",")
        pending = parts[1].split(separator: ",").map(String.init)
        failed = parts[2].split(separator: ",").map { member in
            let facts = member.split(separator: "!", omittingEmptySubsequences: false)
            return Member(
                token: String(facts[0]),
                error: facts.count > 1 ? ErrorCode(rawValue: String(facts[1])) : nil,
                isDead: facts.count > 2 && facts[2] == "1",
                isUnknown: facts.count > 1 && facts[1] == "?"
            )
        }
        messageID = String(parts[3])
    }
}
