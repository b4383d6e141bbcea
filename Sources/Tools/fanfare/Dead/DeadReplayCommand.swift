internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
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
        try await selection.run { projectOperator, item in
            let reply = try await projectOperator.replay(item.id)
            if selection.json { Console.line(Self.json(item, reply)) }
            switch reply {
            case .resumed(let job):
                if !selection.json { Console.line("\(item.id): job \(job) is resumed with its unfinished recipients") }
            case .pushed(let entry):
                if !selection.json { Console.line("\(item.id): job \(item.job) was pushed again, as entry \(entry)") }
            case .missing: Console.error("fanfare: \(DeadSelection.missing(item.id, projectOperator.keys.project))")
            case .busy(let job):
                Console.error("fanfare: \(item.id): job \(job) is not over yet; replay it when it is")
            case .gone(let job): Console.error("fanfare: \(item.id): job \(job) has nothing left to replay")
            }
            switch reply {
            case .resumed, .pushed: return true
            case .missing, .gone, .busy: return false
            }
        }
    }

    static func json(_ item: DeadSelection.Item, _ reply: ReplayReply) -> String {
        let outcome =
            switch reply {
            case .resumed: "resumed"
            case .pushed: "pushed"
            case .missing: "missing"
            case .gone: "gone"
            case .busy: "busy"
            }
        var object: JSONObject = [
            "entry": .string(item.id), "job": .string(item.job), "outcome": .string(outcome),
        ]
        if case .pushed(let entry) = reply { object["entry_id"] = .string(entry) }
        return JSONValue.object(object).jsonText
    }
}
