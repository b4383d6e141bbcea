internal import ArgumentParser
internal import FanfareClient
internal import FanfareRedis
internal import StreamWire

/// Arguments of the commands that change jobs.
struct JobsArguments: ParsableArguments {
    @Argument(
        help: "The jobs' ids, as `fanfare send` printed them or the producer set them.",
        completion: Completion.jobs
    )
    var ids: [String]

    @OptionGroup var place: JobPlace

    @Flag(help: "Print JSON, an object a job.")
    var json = false

    @Option(help: .value("text", "Why; kept with your name in the project's audit list."))
    var reason = ""

    /// Changes the jobs and prints each outcome. A job that cannot be changed does not stop the others; an id whose project
    /// is not clear does.
    /// - Throws: the exit code for failure, if a job was not changed.
    func change(_ action: JobAction) async throws {
        Console.outliveReaders()
        try await place.connect { client, configuration in
            var failure: ExitCode?
            var found: [(id: String, project: String)] = []
            for id in ids {
                do {
                    found.append((id, try await place.project(of: id, client, configuration)))
                } catch let code as ExitCode {
                    failure = [failure, code].compactMap { $0 }.max { $0.rawValue < $1.rawValue }
                }
            }
            if failure?.rawValue == Outcome.usage.rawValue {
                if ids.count > 1 { Console.error("fanfare: no job was \(action.past)") }
                throw ExitCode(Outcome.usage.rawValue)
            }
            for (id, project) in found {
                do {
                    let session = ProjectOption.session(client, project, configuration)
                    try await action.apply(to: id, session, reason: reason, json: json)
                } catch let code as ExitCode {
                    failure = failure ?? code
                }
            }
            if let failure { throw failure }
        }
    }
}
