internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

struct DeadReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Resumes parked jobs; with --yes, also pushes rejected entries again unchanged.",
        discussion: """
            Only recipients without a result are sent to. Correct the cause first: a job whose audience is still changed is \
            parked again.

            An entry that broke a rule is rejected again, unless the project's configuration or the workers' version \
            allows it now. Correct it and push it again instead; --yes replays it unchanged.

            Exits with 1 if an entry was not replayed.

            Examples:
              fanfare dead replay 1772352000000-0 --project demo
              fanfare dead replay --job newsletter-7 --project demo
              fanfare dead replay --all --kind parked --project demo
              fanfare dead replay --all --kind rejected --yes --project demo
            """
    )

    @OptionGroup var selection: DeadSelection

    @Flag(help: "Also push rejected entries again, unchanged.")
    var yes = false

    @Flag(help: "Replay even if neither the configuration nor a worker knows the project.")
    var force = false

    func run() async throws {
        try await selection.run(force: force) { session, item in
            guard yes || item.kind != .rejected else { return .refused(item, session.project) }
            switch try await session.projectOperator.replay(item.id) {
            case .resumed(let job):
                return .init(outcome: "resumed", text: "job \(job) is resumed with its unfinished recipients")
            case .pushed(let entry):
                let text = "job \(item.job) was pushed again, as entry \(entry)"
                return .init(outcome: "pushed", text: text, entryID: entry)
            case .missing: return .missing(session.project)
            case .busy(let job):
                return .init(isDone: false, outcome: "busy", text: "job \(job) is not over yet; replay it when it is")
            case .gone(let job):
                return .init(isDone: false, outcome: "gone", text: "job \(job) has nothing left to replay")
            }
        }
    }
}

extension DeadSelection.Treatment {
    fileprivate static func refused(_ item: DeadEntry, _ project: String) -> Self {
        let text =
            "job \(item.job) was rejected\(item.reason.isEmpty ? "" : " (\(item.reason))") and would be again: correct it and push it again "
            + "(`fanfare dead show \(item.id) --project \(project)` prints it), then drop this entry; "
            + "--yes replays it unchanged"
        return .init(isDone: false, outcome: "refused", text: text)
    }
}
