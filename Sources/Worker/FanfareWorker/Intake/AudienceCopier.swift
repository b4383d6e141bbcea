internal import Logging
internal import RedisTransport
internal import StreamWire

/// Copies a SET audience to a private list, a step a call. The progress is in Redis, so any worker may make any step.
final class AudienceCopier {
    private let project: ProjectContext
    private var job: String?

    var onWhole: () -> Void = {}

    private static let step = 2_000

    init(project: ProjectContext) { self.project = project }

    func copy(_ job: String) {
        guard self.job == nil else { return }
        self.job = job
        project.redis.send(RedisCommand("INFO", "server")) { [weak self] result in
            guard let self else { return }
            guard case .success(let value) = result, let runID = Self.runID(value.string ?? "") else {
                self.job = nil
                return
            }
            next(runID)
        }
    }

    private func next(_ runID: String) {
        guard let job, !project.isDraining else {
            self.job = nil
            return
        }
        project.redis.send(FunctionLibrary.copy(project.keys, job: job, runID: runID, step: Self.step)) {
            [weak self] result in
            guard let self else { return }
            guard case .success(let value) = result, let word = value.array?.first?.string else {
                self.job = nil
                return
            }
            if word == "more" { return next(runID) }
            if word == "parked" {
                project.logger.error("A job is parked: its audience cannot be read.", metadata: ["job": "\(job)"])
            }
            self.job = nil
            onWhole()
        }
    }

    /// The server's run id: a cursor of another run means nothing.
    static func runID(_ info: String) -> String? {
        for line in info.split(whereSeparator: \.isNewline) where line.hasPrefix("run_id:") {
            return String(line.dropFirst("run_id:".count))
        }
        return nil
    }
}
