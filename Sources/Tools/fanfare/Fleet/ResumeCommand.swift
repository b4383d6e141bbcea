internal import ArgumentParser
internal import FanfareClient

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resumes the jobs that `fanfare pause --all` paused.",
        discussion: """
            Lists the jobs and asks first; without a terminal, --yes is required. Jobs that paused for another reason stay \
            paused; `fanfare job resume` resumes them. Exits with 1 if a job was not resumed.

            Examples:
              fanfare resume --all --dry-run
              fanfare resume --all --project shop --yes
            """
    )

    @OptionGroup var change: FleetChange

    func run() async throws {
        try await change.run(.resume, [.paused], reason: change.reason) { session, job in
            guard job.isPausedByOperator else { return false }
            let scope = try await session.projectOperator.pauseScope(of: job.id)
            return FleetChange.wasPausedWithAll(job, scope: scope)
        }
    }
}
