internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

struct JobCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks jobs in a file as a worker does, without Redis.",
        discussion: """
            The file holds a JSON object with the fields of an entry of `jobs`, or one such object per line. The value of a \
            field is a string, or the JSON itself: {"token":"T","message":{"notification":{"title":"Hello"}}}. For each job \
            it prints what the job would be, or the first rule that it breaks with the line. Exits with 1 if a job breaks \
            a rule.

            The rules depend on the project's transport. Without a configuration that has the project they are those of v1.

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

    /// A larger file is refused; a job of 100,000 tokens has about 16 MB.
    private static let maximumBytes = 32 << 20

    func run() throws {
        let file = try InputText.read(
            file,
            option: file == "-" ? "standard input" : file,
            limit: Self.maximumBytes
        )
        let configuration = try options.load()
        let project = try project.chosen(configuration)
        let settings = configuration.projects.first { $0.id == project }
        let check = EntryCheck(settings, project: project ?? "", prefix: configuration.prefix)
        var isFine = true
        JobText.forEach(in: file) { text in
            let result = text.result(check, hasProject: project != nil)
            isFine = isFine && result.isFine
            Console.result(result.text, result.json, isJSON: json)
        }
        guard isFine else { throw ExitCode.failure }
    }
}

/// A job as JSON text.
struct JobText {
    let input: InputText
    let value: Result<JSONValue, JSONError>

    /// Calls the body with each job of a file: one JSON value, or one per line.
    static func forEach(in file: InputText, _ body: (JobText) -> Void) {
        let lines = file.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var jobs = lines.enumerated().lazy.filter { $0.element.contains { $0 > 0x20 } }.map { number, line in
            JobText(input: InputText(name: file.name, bytes: Array(line), firstLine: number + 1))
        }.makeIterator()
        // A job over several lines is no JSON in the first of them.
        guard let first = jobs.next(), (try? first.value.get())?.object != nil else {
            return body(JobText(input: file))
        }
        body(first)
        while let job = jobs.next() { body(job) }
    }

    init(input: InputText) {
        self.input = input
        do throws(JSONError) {
            value = .success(try JSONParser.parse(input.bytes))
        } catch {
            value = .failure(error)
        }
    }

    func result(_ check: EntryCheck, hasProject: Bool) -> JobCheckResult {
        do throws(EntryFault) {
            let fields = try fields()
            if !hasProject, fields.contains(where: { $0.name == "audience" }) {
                throw EntryFault("audience", "its key holds the project's id; name the project with --project")
            }
            return .fine(try check.check(fields), input)
        } catch {
            return .broken(input.placed(error, root: ""))
        }
    }

    /// The fields as they would be pushed.
    private func fields() throws(EntryFault) -> [(name: String, value: [UInt8])] {
        let parsed: JSONValue
        do throws(JSONError) {
            parsed = try value.get()
        } catch {
            throw EntryFault("", "not JSON: \(error.reason)", offset: error.offset)
        }
        guard let object = parsed.object else { throw EntryFault("", "must be a JSON object, not \(parsed.kindName)") }
        var fields: [(name: String, value: [UInt8])] = []
        for member in object.members {
            switch member.value {
            case .string(let text): fields.append((member.key, Array(text.utf8)))
            case .null: throw EntryFault(Excerpt.plain(member.key), "null; leave the field out")
            default: fields.append((member.key, member.value.jsonBytes))
            }
        }
        return fields
    }
}

enum JobCheckResult {
    case fine(JobOutline, InputText)
    case broken(PlacedFault)

    var isFine: Bool { if case .fine = self { true } else { false } }

    var text: String {
        switch self {
        case .fine(let outline, let input): return "\(input.label): ok: \(outline.text)"
        case .broken(let fault): return fault.text
        }
    }

    var json: JSONObject {
        switch self {
        case .fine(let outline, let input):
            var object: JSONObject = ["ok": true]
            if input.firstLine > 1 { object["line"] = .number(JSONNumber(Int64(input.firstLine))) }
            return JSONObject(object.members + outline.json.members)
        case .broken(let fault): return JSONObject([.init(key: "ok", value: false)] + fault.json.members)
        }
    }
}

extension InputText {
    fileprivate var label: String { firstLine > 1 ? "\(name):\(firstLine)" : name }
}

extension JobOutline {
    /// Such as `fan-out to 2500 tokens in 3 batches; message of 57 bytes, at most 4096`.
    fileprivate var text: String {
        let name = job.operation == .send ? "" : "\(job.operation.rawValue), "
        let message = messageBytes.flatMap { bytes in messageLimit.map { "; message of \(bytes) bytes, at most \($0)" }
        }
        return name + target + (message ?? "")
    }

    private var target: String {
        switch job.target {
        case .tokens(let list): return recipients("token", list.count) + topic
        case .fids(let list): return recipients("fid", list.count)
        case .topic(let topic): return "fan-out to topic \(topic)"
        case .condition: return "fan-out to a condition"
        case .group: return job.operation == .send ? "to a device group" : "a device group"
        case .recipients(let list): return recipients("recipient", list.count)
        case .audience: return "to an audience, whose members are checked when they are sent"
        }
    }

    private var topic: String { job.subscription.isEmpty ? "" : ", topic \(job.subscription)" }

    private func recipients(_ kind: String, _ count: Int) -> String {
        let number = "\(count) \(kind)\(count == 1 ? "" : "s")"
        guard let batches, batches > 1 else { return "\(job.operation == .send ? "to " : "")\(number)" }
        return "\(jobClass == .fanout ? "fan-out to " : "")\(number) in \(batches) batches"
    }

    fileprivate var json: JSONObject {
        func number(_ value: Int?) -> JSONValue? { value.map { .number(JSONNumber(Int64($0))) } }
        var object = JSONObject()
        object["id"] = job.hasOwnID ? .string(job.id) : nil
        object["op"] = .string(job.operation.rawValue)
        object["class"] = jobClass.map { .string($0 == .broadcast ? "broadcast" : $0.rawValue) }
        object["recipients"] = number(recipients)
        object["batches"] = number(batches)
        object["message_bytes"] = number(messageBytes)
        object["message_limit"] = number(messageLimit)
        return object
    }
}
