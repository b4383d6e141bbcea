internal import FanfareConfiguration
internal import FanfareJSON
internal import FoundationEssentials
internal import Glibc
internal import Logging

/// Writes log records to standard error, as text lines or as one JSON object per line. Each record is one write.
struct LogOutput: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    let label: String
    let isJSON: Bool
    /// Size limit of a value in bytes.
    static let longestValue = 4_096

    static func logger(_ log: Configuration.Log) -> Logger {
        logger(Logger.Level(rawValue: log.level.rawValue) ?? .info, isJSON: log.format == .json)
    }

    /// For processes in which clients cause records; see ``BoundedLog``.
    static func boundedLogger(_ log: Configuration.Log) -> Logger {
        var logger = logger(log)
        logger.handler = BoundedLog(logger.handler)
        return logger
    }

    static func logger(_ level: Logger.Level, isJSON: Bool = false) -> Logger {
        Logger(label: "fanfare") { LogOutput(logLevel: level, label: $0, isJSON: isJSON) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let own = event.metadata { all.merge(own) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        let time = Self.timestamp(Date())
        let text = Self.render(time, event.level, "\(event.message)", Self.values(all), isJSON: isJSON)
        Console.write(text + "\n", to: STDERR_FILENO)
    }

    /// The metadata as it is written: sorted by name, cut, and with secrets masked.
    static func values(_ metadata: Logger.Metadata) -> [(key: String, value: String)] {
        metadata.map { (key: $0.key, value: cut(TokenMask.masked("\($0.value)"))) }.sorted { $0.key < $1.key }
    }

    static func render(
        _ time: String,
        _ level: Logger.Level,
        _ message: String,
        _ values: [(key: String, value: String)],
        isJSON: Bool
    ) -> String {
        if isJSON {
            var object: JSONObject = [
                "time": .string(time), "level": .string(level.rawValue), "message": .string(message),
            ]
            for (key, value) in values { object.members.append(.init(key: key, value: .string(value))) }
            return escaped(JSONValue.object(object).jsonText)
        }
        let pairs = values.map { " \($0.key)=\(quoted($0.value))" }.joined()
        let padded = level.rawValue + String(repeating: " ", count: max(0, 8 - level.rawValue.count))
        return "\(time) \(padded) \(message)\(pairs)"
    }

    /// Quotes a value unless it is plain: it must not look like another record, or control a terminal.
    private static func quoted(_ value: String) -> String {
        let isPlain = value.unicodeScalars.allSatisfy { $0 != " " && $0 != "\"" && !PrintableText.isUnsafe($0) }
        if isPlain, !value.isEmpty { return value }
        return escaped(JSONValue.string(value).jsonText)
    }

    /// JSON allows DEL, C1 controls and U+2028 unescaped.
    private static func escaped(_ json: String) -> String { PrintableText.escaped(json, keepingLines: false) }

    /// Bounds a value. Texts of peers are cut before they are logged; this bounds all others.
    private static func cut(_ value: String) -> String {
        value.utf8.count > longestValue ? String(value.unicodeScalars.prefix(longestValue / 4)) + "…" : value
    }

    private static func timestamp(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
