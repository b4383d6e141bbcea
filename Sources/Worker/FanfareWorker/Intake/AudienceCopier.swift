internal import StreamWire

/// Copies a SET audience to a private list, a part with each call. The progress is in Redis, so any worker may copy any
/// part.
final class AudienceCopier {
    private let project: ProjectContext
    private var job: String?

    /// Called when a job's audience is copied, or cannot be.
    var onWhole: () -> Void = {}

    /// Members in one call.
    private static let step = 2_000

    init(project: ProjectContext) { self.project = project }

    func copy(_ job: String) {
        guard self.job == nil else { return }
        self.job = job
        project.redis.send(RedisCommand("INFO", "server")) { [weak self] result in
            guard let self else { return }
            // A cursor of another run of the server means nothing.
            guard let runID = (try? result.get())?.string.flatMap({ ServerInfo($0).runID }) else {
                self.job = nil
                return
            }
            copyPart(runID)
        }
    }

    private func copyPart(_ runID: String) {
        guard let job, !project.isDraining else {
            self.job = nil
            return
        }
        project.redis.send(FunctionLibrary.copy(project.keys, job: job, runID: runID, step: Self.step)) {
            [weak self] result in
            guard let self else { return }
            guard case .success(let value) = result, let reply = CopyReply(value) else {
                self.job = nil
                return
            }
            if reply == .more { return copyPart(runID) }
            self.job = nil
            onWhole()
        }
    }
}
