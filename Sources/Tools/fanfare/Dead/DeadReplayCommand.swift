internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import StreamWire

struct DeadReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Lets parked jobs go on, and pushes rejected entries again as they were.",
        discussion: """
            Only recipients without a result are sent to. Mend the cause first: an entry that still breaks its rule is \
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
                if !selection.json { Console.line("\(item.id): job \(job) goes on with its unfinished recipients") }
            case .pushed(let entry):
                if !selection.json { Console.line("\(item.id): job \(item.job) was pushed again, as entry \(entry)") }
            case .missing: Console.error("fanfare: \(DeadSelection.missing(item.id, projectOperator.keys.project))")
            case .busy(let job):
                Console.error("fanfare: \(item.id): job \(job) is not over yet, replay it afterwards")
            case .gone(let job): Console.error("fanfare: \(item.id): nothing of job \(job) is left to replay")
            }
            switch reply {
            case .resumed, .pushed: return true
            case .missing, .gone, .busy: return false
            }
        }
    }

    static func json(_ item: DeadSelection.Item, _ reply: ReplayReply) -> String {
        var object: JSONObject = ["entry": .string(item.id), "job": .string(item.job)]
        let outcome: String
        switch reply {
        case .resumed: outcome = "resumed"
        case .pushed: outcome = "pushed"
        case .missing: outcome = "missing"
        case .gone: outcome = "gone"
        case .busy: outcome = "busy"
        }
        object.members.append(.init(key: "outcome", value: .string(outcome)))
        if case .pushed(let entry) = reply {
            object.members.append(.init(key: "entry_id", value: .string(entry)))
        }
        return JSONValue.object(object).jsonText
    }
}
