internal import ArgumentParser
internal import FanfareClient

struct JobResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resumes a paused job where it stopped.",
        discussion: """
            A fan-out gets its old place in the queue. `fanfare dead replay` resumes a `parked` job.

            Example:
              fanfare job resume newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    @Option(help: .value("text", "Why; kept with your name in the project's audit list."))
    var reason = ""

    func run() async throws {
        try await arguments.change({ "resumed; it is \($0)" }) { try await $0.resume(arguments.id, reason: reason) }
    }
}
