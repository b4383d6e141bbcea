internal import ArgumentParser

struct JobCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks jobs in a file as a worker does, without Redis.",
        discussion: """
            The file holds a JSON object with the fields of an entry of `jobs`, or one such object per line. The value of a \
            field is a string, or the JSON itself: {"token":"T","message":{"notification":{"title":"Hello"}}}. For each job \
            it prints what the job would be, or the first rule that it breaks with the line. Exits with 1 if a job breaks \
            a rule. A warning counts the recipients of a personal job that would fail without a send.

            The rules depend on the project's transport. Without a configuration that has the project they are the rules of v1.

            Examples:
              fanfare job check job.json
              fanfare job check jobs.ndjson --project demo --json
              make-job | fanfare job check -
            """
    )

    @Argument(help: "The file; - reads standard input.", completion: .file())
    var file: String

    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per job.")
    var json = false

    func run() throws {
        let file = try JobText.read(file)
        let (check, hasProject) = try project.entryCheck(options)
        var isFine = true
        JobText.forEach(in: file) { text in
            let result = text.result(check, hasProject: hasProject)
            isFine = isFine && result.isFine
            Console.result(result.text, result.json, isJSON: json)
            if !json, let warning = result.warning { Console.line(warning) }
        }
        guard isFine else { throw ExitCode.failure }
    }
}
