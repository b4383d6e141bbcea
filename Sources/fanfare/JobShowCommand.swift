internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import Foundation
internal import RedisTransport

struct JobShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows where a job stands.",
        discussion: """
            `sent` means accepted by FCM, not seen by anyone yet.

            Example:
              fanfare job show newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    func run() async throws {
        let configuration = try arguments.options.load()
        let project = try arguments.project.resolve(configuration)
        try await RedisSession.run(configuration) { client in
            let producer = FanfareProducer(redis: client, project: project, prefix: configuration.prefix)
            guard let status = try await producer.status(of: arguments.id) else {
                throw JobArguments.missing(arguments.id)
            }
            Console.line(arguments.json ? Self.json(status, project) : Self.table(status))
        }
    }

    private static func counters(_ status: JobStatus) -> [(name: String, count: Int64)] {
        [
            ("total", status.total), ("sent", status.sent), ("failed", status.failed), ("unknown", status.unknown),
            ("cancelled", status.cancelled), ("expired", status.expired), ("retrying", status.retrying),
            ("duplicates", status.duplicates),
        ]
    }

    private static func times(_ status: JobStatus) -> [(name: String, time: Int64?)] {
        [
            ("created_ms", status.createdMs), ("started_ms", status.startedMs), ("first_pass_ms", status.firstPassMs),
            ("finished_ms", status.finishedMs),
        ]
    }

    static func json(_ status: JobStatus, _ project: String) -> String {
        var object = JSONObject([
            .init(key: "id", value: .string(status.id)), .init(key: "project", value: .string(project)),
            .init(key: "state", value: .string(status.state.rawValue)),
        ])
        for (name, count) in counters(status) {
            object.members.append(.init(key: name, value: .number(JSONNumber(count))))
        }
        for case (let name, let time?) in times(status) {
            object.members.append(.init(key: name, value: .number(JSONNumber(time))))
        }
        if let reason = status.reason { object.members.append(.init(key: "reason", value: .string(reason))) }
        return JSONValue.object(object).jsonText
    }

    static func table(_ status: JobStatus) -> String {
        var table = TextTable(["job", status.id])
        table.add(["state", status.state.rawValue])
        if let reason = status.reason { table.add(["reason", reason]) }
        for (name, count) in counters(status) where count > 0 || ["total", "sent", "failed"].contains(name) {
            table.add([name, "\(count)"])
        }
        for case (let name, let time?) in times(status) {
            let date = Date(timeIntervalSince1970: (Double(time) + 0.5) / 1_000)
            table.add([
                String(name.dropLast(3)), date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            ])
        }
        return table.lines.joined(separator: "\n")
    }
}
