internal import ArgumentParser
internal import EventLoop
internal import FanfareCore
internal import FanfareModel

struct JobPreviewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Prints the message that one recipient of a personal job gets.",
        discussion: """
            The file holds one job, as for `fanfare job check`: a JSON object with `message`, `recipients` and, if you like, \
            `variants`. Prints the request for one recipient on one line. A recipient that would fail has its reason on \
            standard error, and the command exits with 1.

            The request is that of the project's transport. Without a configuration that has the project it is that of v1.

            Examples:
              fanfare job preview job.json
              fanfare job preview job.json --recipient 17 --project demo \\
                | jq .message.notification
              make-job | fanfare job preview -
            """
    )

    @Argument(help: "The file; - reads standard input.", completion: .file())
    var file: String

    @Option(help: .value("n", "The recipient's position from 0, as `i` in results."))
    var recipient = 0

    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print JSON, which is what is printed in any case.")
    var json = false

    func run() throws {
        let text = try job(JobText.read(file))
        let (check, _) = try project.entryCheck(options)
        let (job, messages) = try checked(text, check)
        guard let messages else {
            throw Outcome.usage.because(
                "\(text.input.name): not a personal job, every recipient gets `message` as it is; a personal job has `recipients`"
            )
        }
        let element = try element(of: job)
        guard let message = messages.message(of: element, nowMs: SystemClock.nowMs) else {
            let fault = messages.fault(of: element)
            let reason = fault.map { $0.path.isEmpty ? $0.rule : $0.reason } ?? "not sent"
            throw Outcome.failed.because("recipients[\(recipient)] would fail: \(reason)")
        }
        Console.line(String(decoding: message, as: UTF8.self))
    }

    /// The job, and its messages if it is personal.
    private func checked(_ text: JobText, _ check: EntryCheck) throws -> (Job, PersonalPreview?) {
        do throws(EntryFault) {
            let fields = try text.fields()
            guard !fields.contains(where: { $0.name == "audience" }) else {
                throw EntryFault("audience", "only Redis has the recipients; copy one of them to `recipients`")
            }
            let job = try check.check(fields).job
            return (job, try check.preview(of: job))
        } catch {
            Console.error(text.input.placed(error, root: "").text)
            throw error.path == "audience" ? ExitCode(Outcome.usage.rawValue) : ExitCode.failure
        }
    }

    private func element(of job: Job) throws -> SharedText {
        guard case .recipients(let list) = job.target else { return SharedText("") }
        guard list.indices.contains(recipient) else {
            let count = list.count
            throw Outcome.usage.because(
                "--recipient: \(recipient) is not 0 to \(count - 1); the job has \(count) \(count == 1 ? "recipient" : "recipients")"
            )
        }
        return list.shared(recipient)
    }

    /// The only job of the file.
    private func job(_ file: InputText) throws -> JobText {
        var jobs: [JobText] = []
        JobText.forEach(in: file) { jobs.append($0) }
        guard jobs.count == 1 else {
            throw Outcome.usage.because("\(file.name): \(jobs.count) jobs; give a file of one")
        }
        return jobs[0]
    }
}
