internal import ArgumentParser
internal import FanfareClient

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Holds every job that runs, in all projects or in one.",
        discussion: """
            Lists the jobs and asks first; without a terminal, --yes is required. Within a second no worker starts a new send of \
            them. Jobs that no worker has taken are counted, not paused; `fanfare project pause` holds them, too. `fanfare \
            resume --all` resumes what this command paused. Exits with 1 if a job was not paused.

            Examples:
              fanfare pause --all --dry-run
              fanfare pause --all --reason "wrong prices"
              fanfare pause --all --project shop --yes
            """
    )

    @OptionGroup var change: FleetChange

    @Flag(help: "Also jobs that wait for the time at which they start.")
    var scheduled = false

    func run() async throws {
        let states: [JobStatus.State] = [.active, .retrying, .waiting, .paused] + (scheduled ? [.scheduled] : [])
        try await change.run(.pause, Set(states), reason: FleetChange.pauseReason(change.reason)) { _, job in
            job.state != .paused || job.isAtTimedCanary
        }
    }
}
