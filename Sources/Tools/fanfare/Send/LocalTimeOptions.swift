internal import ArgumentParser
internal import FanfareModel

/// Sends at a local time in the zone of each recipient.
struct LocalTimeOptions: ParsableArguments {
    @Option(
        help: .value(
            "time",
            "Start at this time in the zone of each recipient, such as 2027-03-01T09:00: a job for each instant, with ids such as ID.0800Z."
        )
    )
    var localTime: String?

    @Option(
        help: .value("name", "With --local-time: the column of CSV, or member of NDJSON, that names the IANA zone.")
    )
    var zoneColumn: String?

    private static let usualColumn = "zone"

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        guard let localTime else {
            guard zoneColumn == nil else { throw ValidationError("--zone-column: only with --local-time") }
            return
        }
        guard LocalTime(localTime) != nil else {
            throw ValidationError("--local-time: \(localTime) is no date and time such as 2027-03-01T09:00")
        }
    }

    /// Refuses options that one job has and several cannot have.
    func check(_ target: TargetOptions, _ general: GeneralJobOptions, waits: Bool) throws {
        guard localTime != nil else { return }
        guard target.recipientsFile != nil || target.tokensFile != nil else {
            throw ValidationError(
                "--local-time: only with --recipients-file or --tokens-file, whose rows name the zone"
            )
        }
        guard let id = general.id else {
            throw ValidationError("--local-time: needs --id, with which the ids of its jobs begin")
        }
        guard id.utf8.count <= 128 - LocalTime.longestEnd else {
            throw ValidationError("--id: at most \(128 - LocalTime.longestEnd) characters with --local-time")
        }
        guard general.at == nil else { throw ValidationError("--at: not with --local-time, which sets the start") }
        guard !waits else {
            throw ValidationError("--wait: not with --local-time; `fanfare job show \(id)` adds its jobs up")
        }
    }

    /// Nil without `--local-time`.
    var instants: ZoneInstants? {
        localTime.flatMap { LocalTime($0) }.map { ZoneInstants($0, column: zoneColumn ?? Self.usualColumn) }
    }
}
