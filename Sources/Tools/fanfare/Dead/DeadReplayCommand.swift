internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

struct DeadReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Resumes parked jobs, and pushes rejected entries again unchanged.",
        discussion: """
            Only recipients without a result are sent to. Correct the cause first: an entry that still breaks its rule is \
            rejected again, and a job whose audience is still changed is parked again.

            Examples:
              fanfare dead replay 1772352000000-0 --project demo
              fanfare dead replay --job newsletter-7 --project demo
              fanfare dead replay --all --kind parked --project demo
            """
    )

    @OptionGroup var selection: DeadSelection

    func run() async throws {
        try await selection.run { session, item in
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
