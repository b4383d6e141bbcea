internal import ArgumentParser
internal import FanfareClient
internal import FanfareModel

/// Options of a job that sends a message.
struct JobOptions: ParsableArguments {
    @Option(
        help: .value("mode", "Delivery after an unknown outcome: at_least_once, at_most_once or replace."),
        completion: Self.deliveries.completion,
        transform: Self.deliveries.value
    )
    var delivery: DeliveryMode?

    @Option(
        help: .value("format", "Format of the message: v1 or legacy. Default: v1."),
        completion: Self.formats.completion,
        transform: Self.formats.value
    )
    var format: MessageFormat?

    @Option(help: .value("n", "Estimated number of a topic's subscribers."))
    var audienceSize: Int64?

    @Flag(help: "Have FCM validate the message without delivering it.")
    var validateOnly = false

    private static let deliveries = Words(list: ["at_least_once", "at_most_once", "replace"])
    private static let formats = Words(list: ["v1", "legacy"])

    func apply(to job: inout PushJob) {
        job.format = format ?? .v1
        job.delivery = delivery
        job.audienceSize = audienceSize
        job.validateOnly = validateOnly
    }
}
