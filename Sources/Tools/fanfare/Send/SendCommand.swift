internal import ArgumentParser
internal import FanfareClient
internal import FanfareCore

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Pushes a job and prints its id.",
        discussion: """
            Checks the message, the recipients and all fields as a worker does, and pushes nothing if a rule is broken; \
            --no-check leaves that to the worker. A job whose --id was pushed before is not sent again. `sent` means \
            accepted by FCM, not delivered and not shown.

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

    @Flag(name: .customLong("no-check"), help: "Push without checking; a worker then rejects a job that breaks a rule.")
    var skipsCheck = false

    @Flag(help: "Print JSON: the id, or with --wait the job as `job show --json` does.")
    var json = false

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        if target.readsStandardInput, message.readsStandardInput {
            throw ValidationError("only one of --tokens-file and --message can read standard input")
        }
    }

    func run() async throws {
        let message = try message.read()
        let tokens = try target.tokensFile.map { try TokensFile(path: $0, checks: !skipsCheck) }
        try await project.connect(options, pushes: true) { session in
            let key = AudienceList.newKey(project: session.project)
            var push = PushJob(target: target.target(tokens, key: key), message: message.bytes)
            try await general.apply(to: &push, session.client)
            job.apply(to: &push)
            if !skipsCheck { try check(push, message.file, session) }
            let startMs = push.notBefore
            var pushing = JobPush(session: session, job: push)
            pushing.prepare = { try await tokens?.write(to: key, session.client, startMs: startMs) }
            try await pushing.run(waits: wait, isJSON: json)
        }
    }

    /// Checks the fields that the push would write.
    /// - Throws: the exit code, after printing the broken rule and its place.
    private func check(_ push: PushJob, _ file: InputText?, _ session: ProjectSession) throws {
        do throws(EntryFault) {
            _ = try session.entryCheck.check(push.fields)
        } catch {
            let isOfFile =
                error.path == "message" || error.path.hasPrefix("message.") || error.path.hasPrefix("message[")
            let placed = isOfFile ? file?.placed(error, root: "message") : nil
            Console.error(placed?.text ?? "fanfare: \(error.reason)")
            let unknown =
                session.settings == nil
                ? " (checked for transport v1: the configuration does not have project \(session.project))" : ""
            throw Outcome.usage.because(
                "the job breaks a rule\(unknown), so nothing was pushed; correct it, or push it as it is with --no-check"
            )
        }
    }
}
