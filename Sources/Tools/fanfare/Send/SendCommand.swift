internal import ArgumentParser
internal import FanfareClient
internal import FanfareModel

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Pushes a job and prints its id.",
        discussion: """
            Checks the message, the recipients and all fields as a worker does, and pushes nothing if a rule is broken; \
            --no-check leaves that to the worker. A job whose --id was pushed before is not sent again. `sent` means \
            accepted by FCM, not delivered and not shown.

            A personal job sends each recipient its own message: {{name}} or {{name|fallback}} in the texts of the message \
            stands for a value of the recipient. The header of a CSV file names the columns: `token` (or `fid`), `variant` if \
            you like, and values. A line of NDJSON is {"token":"T","vars":{"name":"Ana"},"variant":"es"}. \
            `fanfare job preview` prints what one recipient gets.

            Examples:
              fanfare send --project demo --token T --title Hello --body World \\
                --data article=42 --wait
              fanfare send --project demo --tokens-file tokens.txt --message message.json \\
                --id newsletter-7
              fanfare send --project demo --topic news --title Tonight --at +2h
              fanfare send --project demo --recipients-file users.csv \\
                --title 'Hi {{name|there}}' --body 'Your {{item}}'
              fanfare send --project demo --recipients-file users.csv \\
                --message message.json --variants languages.json \\
                --canary 1% --canary-wait 600 --rate 60000 \\
                --stop-if 'failed>5%; unregistered>20%' \\
                --send-window '09:00-21:00 Europe/Madrid' --wait
              fanfare send --project demo --recipients-file users.csv \\
                --message message.json --id sale \\
                --local-time 2027-03-01T09:00 --expires-at +12h
              query-tokens | fanfare send --project demo --tokens-file - \\
                --message message.json --wait
            """
    )

    @OptionGroup var project: ProjectOption
    @OptionGroup(title: "Target: exactly one") var target: TargetOptions
    @OptionGroup(title: "Message: a file, or its parts") var message: MessageOptions
    @OptionGroup(title: "Job") var general: GeneralJobOptions
    @OptionGroup(title: "Job") var local: LocalTimeOptions
    @OptionGroup(title: "Job") var job: JobOptions
    @OptionGroup(title: "Guards: hold a job back, or stop it") var guards: GuardOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job; exit with 0 only if every recipient was accepted by FCM.")
    var wait = false

    @OptionGroup var pushing: PushOptions

    @Flag(help: "Print JSON: the id, or with --wait the job as `job show --json` does.")
    var json = false

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        try local.check(target, general, waits: wait)
        let inputs = target.standardInputs + message.standardInputs
        guard inputs.count <= 1 else {
            throw ValidationError("only one of \(inputs.joined(separator: " and ")) can read standard input")
        }
    }

    func run() async throws {
        let message = try message.read()
        let variants = try target.readVariants()
        if let instants = local.instants { return try await run(instants, message, variants) }
        let tokens = try target.tokensFile.map { try TokensFile(path: $0, checks: !pushing.skipsCheck) }
        let recipients = try target.recipientsFile.map { try RecipientsFile(path: $0) }
        try await project.connect(options, force: pushing.force) { session in
            let key = AudienceList.newKey(project: session.project)
            var push = PushJob(target: target.target(tokens, key: key), message: message.bytes)
            push.audienceFormat = recipients == nil ? nil : .json
            push.variants = variants?.bytes
            try await general.apply(to: &push, session.client, checks: !pushing.skipsCheck)
            job.apply(to: &push)
            guards.apply(to: &push)
            let check = SendCheck(session: session, message: message.file, variants: variants)
            let preview = pushing.skipsCheck ? nil : try check.check(push)
            if let recipients {
                try recipients.read(preview)
                recipients.apply(to: &push, key: key)
            }
            let startMs = push.notBefore
            var pushing = JobPush(session: session, job: push)
            pushing.prepare = {
                try await tokens?.write(to: key, session.client, startMs: startMs)
                try await recipients?.write(to: key, session.client, startMs: startMs)
            }
            try await pushing.run(waits: wait, isJSON: json)
        }
    }

    /// Pushes a job for each instant at which a zone of the recipients shows the local time.
    private func run(
        _ instants: ZoneInstants,
        _ message: (bytes: [UInt8], file: InputText?),
        _ variants: InputText?
    ) async throws {
        let isPersonal = target.recipientsFile != nil
        let recipients = try ZonedRecipients(
            path: target.recipientsFile ?? target.tokensFile ?? "-",
            option: isPersonal ? "--recipients-file" : "--tokens-file",
            instants
        )
        try await project.connect(options, force: pushing.force) { session in
            var push = PushJob(target: .tokens([]), message: message.bytes)
            push.variants = variants?.bytes
            try await general.apply(to: &push, session.client, checks: !pushing.skipsCheck)
            job.apply(to: &push)
            guards.apply(to: &push)
            let check = SendCheck(session: session, message: message.file, variants: variants)
            let send = LocalTimeSend(
                session: session,
                recipients: recipients,
                template: push,
                expiresAt: general.expiresAt,
                isPersonal: isPersonal,
                check: pushing.skipsCheck ? nil : check
            )
            try await send.run(isJSON: json)
        }
    }
}
