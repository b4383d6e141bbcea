internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON

/// A job as JSON text.
struct JobText {
    let input: InputText
    let value: Result<JSONValue, JSONError>

    /// A larger file is refused; a job of 100,000 recipients has 16 to 32 MB.
    private static let maximumBytes = 64 << 20

    /// Reads a file of jobs.
    /// - Parameter path: `-` for standard input.
    static func read(_ path: String) throws -> InputText {
        try InputText.read(path, option: path == "-" ? "standard input" : path, limit: maximumBytes)
    }

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

    /// The fields as they would be pushed, as ``JobObject`` reads them.
    func fields() throws(EntryFault) -> [(name: String, value: [UInt8])] {
        let job: JSONValue
        do throws(JSONError) { job = try value.get() } catch {
            throw EntryFault("", "not JSON: \(error.reason)", offset: error.offset)
        }
        return try JobObject.fields(of: job)
    }
}

extension ProjectOption {
    /// The checks of the chosen project, and whether there is one.
    func entryCheck(_ options: ConfigurationOptions) throws -> (check: EntryCheck, hasProject: Bool) {
        let configuration = try options.load()
        let project = try chosen(configuration)
        let settings = configuration.projects.first { $0.id == project }
        return (EntryCheck(settings, project: project ?? "", prefix: configuration.prefix), project != nil)
    }
}
