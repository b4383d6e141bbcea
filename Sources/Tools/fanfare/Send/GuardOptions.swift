internal import ArgumentParser
internal import FanfareClient
internal import FanfareModel

/// Guards of a job: they hold back a job of many recipients, or stop it.
struct GuardOptions: ParsableArguments {
    @Option(help: .value("n", "First attempts a minute for this job, at most."))
    var rate: Int?

    @Option(
        help: .value(
            "n|n%",
            "Send to the first recipients only, such as 1000 or 1%, then pause until `fanfare job resume`."
        )
    )
    var canary: String?

    @Option(help: .value("seconds", "Continue by itself this long after the canary, unless --stop-if holds."))
    var canaryWait: Int64?

    @Option(help: .value("text", "Pause when a condition holds, such as \"failed>5%; unregistered>20%; unknown>1%\"."))
    var stopIf: String?

    @Option(help: .value("text", "Send inside these hours only, such as \"09:00-21:00 Europe/Madrid\"."))
    var sendWindow: String?

    /// The check of the job names `canary_wait_ms`, and milliseconds.
    func validate() throws {
        guard let canaryWait, !(1...604_800).contains(canaryWait) else { return }
        throw ValidationError("--canary-wait: \(canaryWait) is not 1 to 604800 seconds")
    }

    func apply(to job: inout PushJob) {
        job.guards.ratePerMinute = rate
        job.guards.canary = canary
        job.guards.canaryWaitMs = canaryWait.map { $0 * 1_000 }
        job.guards.stopIf = stopIf
        job.guards.sendWindow = sendWindow
    }
}
