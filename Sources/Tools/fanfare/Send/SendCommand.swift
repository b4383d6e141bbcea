internal import ArgumentParser
internal import FanfareClient

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Pushes a job and prints its id.",
        discussion: """
            Workers validate the job; a job that breaks a rule ends as `rejected`, as --wait and `fanfare job show` report. \
            `sent` means accepted by FCM, not delivered and not shown.

            Examples:
              fanfare send --project demo --token T --title Hello --body World --data article=42 --wait
              fanfare send --project demo --tokens-file tokens.txt --message message.json --id newsletter-7
              fanfare send --project demo --topic news --title Tonight --at +2h
              query-tokens | fanfare send --project demo --tokens-file - --message message.json --wait
            """
    )

    @OptionGroup var project: ProjectOption
    @OptionGroup(title: "Target: exactly one") var target: TargetOptions
    @OptionGroup(title: "Message: a file, or its parts") var message: MessageOptions
    @OptionGroup(title: "Job") var general: GeneralJobOptions
    @OptionGroup(title: "Job") var job: JobOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job; exit with 0 only if every recipient was accepted by FCM.")
    var wait = false

    @Flag(help: "Print JSON: the id, or with --wait the job as `job show --json` does.")
    var json = false

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        if target.readsStandardInput, message.readsStandardInput {
            throw ValidationError("only one of --tokens-file and --message can read standard input")
        }
    }

    func run() async throws {
        let message = try message.bytes()
        try await project.connect(options, pushes: true) { session in
            let target = try await target.resolve(session, notBefore: general.at)
            var push = PushJob(target: target, message: message)
            try await general.apply(to: &push, session.client)
            job.apply(to: &push)
            try await session.push(push, waits: wait, isJSON: json)
        }
    }
}
