internal import FanfareModel
internal import Logging

extension Settler {
    /// Logs a cut answer to a multicast: its 200 only says that FCM looked at the request; the results are in the body.
    func noteCutBody(_ outcome: RequestOutcome, _ verdicts: AnswerVerdicts, of flight: Flight) {
        guard flight.positions.count > 1, !flight.batch.job.isManagement, case .answered(let answer) = outcome,
            answer.status == 200, !answer.isComplete
        else { return }
        let unknown = verdicts.others.count(where: \.verdict.isUnanswered)
        project.logger.warning(
            "The answer to a multicast was cut short: recipients without a result in it may have been reached.",
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
