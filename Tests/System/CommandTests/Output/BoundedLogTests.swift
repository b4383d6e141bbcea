import EventLoop
import Logging
import Testing

@testable import fanfare

@Suite struct BoundedLogTests {
    private struct Collector: LogHandler {
        let lines = Locked<[String]>([])
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let omitted = event.metadata?["omitted"].map { " omitted=\($0)" } ?? ""
            lines.withLock { $0.append("\(event.message)\(omitted)") }
        }
    }

    @Test func warningsOfOneMessageAreBounded() {
        let collector = Collector()
        let now = Locked<UInt64>(1)
        var logger = Logger(label: "test")
        logger.handler = BoundedLog(collector) { now.withLock { $0 } }
        for _ in 0..<1_000 { logger.warning("A push failed.") }
        logger.error("Another.")
        now.withLock { $0 += 10_000_000_000 }
        logger.warning("A push failed.")
        logger.warning("A push failed.")
        #expect(collector.lines.withLock { $0 } == ["A push failed.", "Another.", "A push failed. omitted=999"])
    }

    @Test func otherRecordsPass() {
        let collector = Collector()
        var logger = Logger(label: "test")
        logger.handler = BoundedLog(collector) { 0 }
        for _ in 0..<3 { logger.info("The keys were read again.") }
        #expect(collector.lines.withLock { $0.count } == 3)
    }
}
