internal import ArgumentParser
internal import FanfareClient

struct JobPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Holds a job until it is resumed.",
        discussion: """
            Within a second no worker starts a new send of the job. A fan-out gives its slot to the next one. `expires_at` \
            still applies.

            Example:
              fanfare job pause newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    @Option(help: .value("text", "Why; kept with your name in the project's audit list."))
    var reason = ""

    func run() async throws {
        try await arguments.change({ _ in "paused" }) { try await $0.pause(arguments.id, reason: reason) }
    }
}
