internal import ArgumentParser
internal import FanfareClient
internal import FanfareModel

/// Options of a job that sends a message.
struct JobOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Delivery after an unknown outcome: at_least_once, at_most_once or replace.",
            valueName: "mode"
        ),
        completion: Completion.words(["at_least_once", "at_most_once", "replace"]),
        transform: JobOptions.delivery
    )
    var delivery: DeliveryMode?

    @Option(
        help: ArgumentHelp("Format of the message: v1 or legacy. Default: v1.", valueName: "format"),
        completion: Completion.words(["v1", "legacy"]),
        transform: JobOptions.format
    )
    var format: MessageFormat?

    @Option(help: ArgumentHelp("Estimated number of a topic's subscribers.", valueName: "n"))
    var audienceSize: Int64?

    @Flag(help: "Have FCM validate the message without delivering it.")
    var validateOnly = false

    func apply(to job: inout PushJob) {
        job.format = format ?? .v1
        job.delivery = delivery
        job.audienceSize = audienceSize
        job.validateOnly = validateOnly
    }

    private static func delivery(_ text: String) throws -> DeliveryMode {
        try choice(DeliveryMode(rawValue: text), "at_least_once, at_most_once or replace")
    }

    private static func format(_ text: String) throws -> MessageFormat {
        try choice(MessageFormat(rawValue: text), "v1 or legacy")
    }

    private static func choice<Choice>(_ value: Choice?, _ names: String) throws -> Choice {
        guard let value else { throw ValidationError("must be \(names)") }
        return value
    }
}
