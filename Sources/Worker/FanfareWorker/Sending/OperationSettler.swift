internal import FanfareCore
internal import FanfareModel
internal import Logging

/// Settles the answers to operations on topics and groups. They go to other APIs than sends, so a refusal fails the
/// operation and does not block the project.
final class OperationSettler {
    private let project: ProjectContext
    private let credentials: any CredentialSource
    private let settler: Settler
    private var refusals = OperationRefusals()
    /// Project time at which each refusal was last logged, by its `raw_error`.
    private var loggedMs: [String: Int64] = [:]

    init(project: ProjectContext, credentials: any CredentialSource, settler: Settler) {
        self.project = project
        self.credentials = credentials
        self.settler = settler
    }

    func settle(_ verdict: Verdict, position: Int, of flight: Flight) {
        let verdict = decide(verdict, credential: flight.credential)
        if case .failed(let failure) = verdict, failure.action == .fixCredentials { log(failure) }
        settler.settle(verdict, position: position, of: flight.batch, startedMs: flight.startedMs)
    }

    private func decide(_ verdict: Verdict, credential: Int) -> Verdict {
        switch verdict {
        case .refreshCredential(let failure):
            switch refusals.refused(credential, canRenew: credentials.canRefresh) {
            case .renew:
                credentials.renew(credential)
                return .retry(Retry(failure: failure))
            case .fail: return .failed(failure)
            }
        case .sent, .sentPartly, .managed, .failed: refusals.accepted()
        case .retry, .unknown, .blockProject: break
        }
        return verdict
    }

    /// Logs each refusal once a minute: FCM refuses a large job once for each of its requests.
    private func log(_ failure: Failure) {
        let nowMs = project.nowMs
        loggedMs = loggedMs.filter { nowMs - $0.value < 60_000 }
        guard loggedMs[failure.rawError] == nil else { return }
        loggedMs[failure.rawError] = nowMs
        project.logger.error(
            "An API refuses the project's operations, which fail; sends go on. Enable the API, or grant the right to it.",
            metadata: ["error": "\(failure.rawError)", "http_status": "\(failure.httpStatus)"]
        )
    }
}
