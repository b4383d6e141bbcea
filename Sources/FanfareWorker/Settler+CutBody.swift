internal import FanfareModel
internal import Logging

extension Settler {
    /// A 200 says that FCM looked at the request; what it says of each of many recipients stands in the body.
    func noteCutBody(_ outcome: RequestOutcome, _ verdicts: AnswerVerdicts, of flight: Flight) {
        guard flight.positions.count > 1, !flight.batch.job.isManagement, case .answered(let answer) = outcome,
            answer.status == 200, !answer.isComplete
        else { return }
        let unknown = verdicts.others.count(where: \.verdict.isUnanswered)
        project.logger.warning(
            "The answer to a request for many was cut short; who is missing in it may have been reached.",
            metadata: [
                "job": "\(flight.batch.job.id)", "recipients": "\(flight.positions.count)", "in_doubt": "\(unknown)",
            ]
        )
    }
}

extension Verdict {
    /// Whether FCM's result for the recipient did not arrive.
    fileprivate var isUnanswered: Bool {
        switch self {
        case .unknown: true
        case .retry(let retry): retry.cause == .unanswered
        case .sent, .sentPartly, .managed, .failed, .refreshCredential, .blockProject: false
        }
    }
}
