internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

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

    func run() async throws {
        try await arguments.run { projectOperator in
            let reply = try await projectOperator.resume(arguments.id)
            var text = "resumed"
            if case .ok(let state) = reply { text += "; it is \(state)" }
            try JobControlReport(arguments, projectOperator.keys.project, reply).print(text)
        }
    }
}
