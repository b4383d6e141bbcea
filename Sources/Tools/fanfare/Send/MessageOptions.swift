internal import ArgumentParser
internal import FanfareJSON

/// The message of a job: a file, or a notification and data from options.
struct MessageOptions: ParsableArguments {
    @Option(
        help: .value("file", "The message (JSON), without its target; - reads standard input."),
        completion: .file()
    )
    var message: String?

    @Option(help: .value("text", "The notification's title."))
    var title: String?

    @Option(help: .value("text", "The notification's text."))
    var body: String?

    @Option(help: .value("key=value", "An entry of the data; may be repeated."))
    var data: [String] = []

    /// The options that read standard input.
    var standardInputs: [String] { message == "-" ? ["--message"] : [] }

    private static let maximumBytes = 1 << 20

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        let hasParts = title != nil || body != nil || !data.isEmpty
        guard message != nil || hasParts else {
            throw ValidationError("give a message: --message FILE, or --title, --body and --data")
        }
        guard message == nil || !hasParts else {
            throw ValidationError("--message holds the whole message: leave out --title, --body and --data")
        }
        for entry in data where !entry.contains("=") { throw ValidationError("--data \(entry): must be key=value") }
        let keys = data.map(Self.split).map(\.key)
        if let twice = Dictionary(grouping: keys, by: { $0 }).first(where: { $0.value.count > 1 }) {
            throw ValidationError("--data \(twice.key): the key is given twice")
        }
    }

    /// The message, and the file that it was read from, if any.
    func read() throws -> (bytes: [UInt8], file: InputText?) {
        guard let message else { return (build(), nil) }
        let file = try InputText.read(message, option: "--message", limit: Self.maximumBytes)
        return (file.bytes, file)
    }

    /// Builds `notification` and `data`, which are equal in both formats.
    private func build() -> [UInt8] {
        var object = JSONObject()
        var notification = JSONObject()
        notification["title"] = title.map { .string($0) }
        notification["body"] = body.map { .string($0) }
        if !notification.isEmpty { object["notification"] = .object(notification) }
        if !data.isEmpty {
            let members = data.map(Self.split).map { JSONObject.Member(key: $0.key, value: .string($0.value)) }
            object["data"] = .object(JSONObject(members))
        }
        return JSONValue.object(object).jsonBytes
    }

    private static func split(_ entry: String) -> (key: String, value: String) {
        let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
}
