internal import ArgumentParser
internal import FanfareClient
internal import FanfareModel
internal import RedisTransport

/// How a job is to be treated.
struct JobOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Your own id: pushed again within the dedupe window, it is not sent again.", valueName: "id")
    )
    var id: String?

    @Option(help: ArgumentHelp("Hold until \(TimeArgument.forms).", valueName: "time"), transform: JobOptions.time)
    var at: TimeArgument?

    @Option(
        help: ArgumentHelp("Give up unsent recipients after this time; forms as for --at.", valueName: "time"),
        transform: JobOptions.time
    )
    var expiresAt: TimeArgument?

    /// What a worker would reject anyway is refused here, where the person still is.
    func check() throws {
        if let id {
            let isPlain = id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    return true
                default: return ".:_-".utf8.contains(byte)
                }
            }
            guard isPlain, (1...128).contains(id.utf8.count) else {
                throw ValidationError("--id: 1 to 128 of A-Z a-z 0-9 . _ : -")
            }
        }
        if let priority, !(0...9).contains(priority) { throw ValidationError("--priority: 0 to 9") }
    }

    @Option(help: ArgumentHelp("0 to 9, higher first; 5 unless said.", valueName: "n"))
    var priority: Int?

    @Option(
        help: ArgumentHelp(
            "How an unknown outcome is treated: at_least_once, at_most_once or replace.",
            valueName: "mode"
        ),
        transform: JobOptions.delivery
    )
    var delivery: DeliveryMode?

    @Option(
        help: ArgumentHelp("Which results are written: all, failures or none.", valueName: "which"),
        transform: JobOptions.policy
    )
    var results: ResultsPolicy?

    @Option(
        help: ArgumentHelp("What the message is written in: v1 (unless said) or legacy.", valueName: "format"),
        transform: JobOptions.format
    )
    var format: MessageFormat?

    @Option(help: ArgumentHelp("Estimate of a topic's subscribers.", valueName: "n"))
    var audienceSize: Int64?

    @Flag(help: "Let FCM check without delivering.")
    var validateOnly = false

    func apply(to job: inout PushJob, _ client: RedisClient) async throws {
        job.id = id
        job.format = format ?? .v1
        job.priority = priority
        job.delivery = delivery
        job.results = results ?? .unsaid
        job.audienceSize = audienceSize
        job.validateOnly = validateOnly
        guard at != nil || expiresAt != nil else { return }
        let now = try await client.nowMs()
        job.notBefore = at?.milliseconds(nowMs: now)
        job.expiresAt = expiresAt?.milliseconds(nowMs: now)
    }

    private static func time(_ text: String) throws -> TimeArgument {
        guard let time = TimeArgument(text) else { throw ValidationError("must be \(TimeArgument.forms)") }
        return time
    }

    private static func policy(_ text: String) throws -> ResultsPolicy {
        try choice(ResultsPolicy(rawValue: text), unless: .unsaid, "all, failures or none")
    }

    private static func delivery(_ text: String) throws -> DeliveryMode {
        try choice(DeliveryMode(rawValue: text), "at_least_once, at_most_once or replace")
    }

    private static func format(_ text: String) throws -> MessageFormat {
        try choice(MessageFormat(rawValue: text), "v1 or legacy")
    }

    private static func choice<Choice: Equatable>(
        _ value: Choice?,
        unless excluded: Choice? = nil,
        _ names: String
    ) throws -> Choice {
        guard let value, value != excluded else { throw ValidationError("must be \(names)") }
        return value
    }
}
