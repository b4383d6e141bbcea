internal import EventLoop
public import Logging

/// Records the lines of a log.
public final class HeardLog: Sendable {
    public struct Line: Equatable, Sendable {
        public let level: Logger.Level
        public let message: String

        public init(level: Logger.Level, message: String) { (self.level, self.message) = (level, message) }
    }

    private let heard = Locked<[(line: Line, metadata: Logger.Metadata)]>([])
    public init() {}

    public var lines: [Line] { heard.withLock { $0.map(\.line) } }
    /// What each line says beside its message.
    public var metadata: [Logger.Metadata] { heard.withLock { $0.map(\.metadata) } }
    public var messages: [String] { lines.map(\.message) }

    public var logger: Logger { Logger(label: "test") { _ in Handler(heard: heard) } }

    private struct Handler: LogHandler {
        let heard: Locked<[(line: Line, metadata: Logger.Metadata)]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = Line(level: event.level, message: "\(event.message)")
            heard.withLock { $0.append((line, event.metadata ?? [:])) }
        }
    }
}
