import EventLoop
import Logging

/// Records the lines of a log.
final class HeardLog: Sendable {
    struct Line: Equatable {
        let level: Logger.Level
        let message: String
    }

    private let heard = Locked<[Line]>([])
    var lines: [Line] { heard.withLock { $0 } }
    var messages: [String] { lines.map(\.message) }

    var logger: Logger { Logger(label: "test") { _ in Handler(heard: heard) } }

    private struct Handler: LogHandler {
        let heard: Locked<[Line]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            heard.withLock { $0.append(Line(level: event.level, message: "\(event.message)")) }
        }
    }
}

/// Calls `body` on the loop once `condition` holds, which is checked every few milliseconds.
func when(_ loop: EventLoop, _ condition: @escaping () -> Bool, _ body: @escaping () -> Void) {
    loop.schedule(afterMilliseconds: 5) { condition() ? body() : when(loop, condition, body) }
}
