import FanfareModel
import Foundation
import TestSupport
import Testing

@testable import FanfareCore

/// The schema that producers get says what workers say, as far as a schema can.
@Suite struct JobSchemaTests {
    static let root = Repository.root
    static let file = root.appendingPathComponent("Sources/Documentation/Fanfare.docc/job.schema.json")
    static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]

    @Test func schemaFileEqualsTheTables() throws {
        let text = try JobSchema.text()
        if ProcessInfo.processInfo.environment["FANFARE_WRITE_SCHEMA"] != nil {
            try text.write(to: Self.file, atomically: true, encoding: .utf8)
        }
        let written = try String(contentsOf: Self.file, encoding: .utf8)
        #expect(written == text, "run this test with FANFARE_WRITE_SCHEMA=1 and commit the file")
    }

    /// What a schema leaves to the worker, by the words of its reason.
    static let leftToWorkers = [
        // Of an entry.
        "given more than once", "is not after not_before", "hash tag must be", "must not start with fanfare:",
        "tracestate: member", "tracestate: more than", "condition: ", "the two times are equal",
        // Of the configuration.
        "transport, this project's is", "has no counterpart",
        // Of a message.
        "also given as", "is not a time such as", "data only", "nested deeper", "a placeholder is not allowed",
        "the placeholder at byte",
        // Of a variant, which is checked when it is merged.
        "variants.es.",
    ]

    struct Row: Sendable {
        var fields: [(name: String, value: [UInt8])]
        var reason: String?
    }

    static let rejected: [Row] = {
        let rows: [[BadEntry]] = [
            ValidationEntryTests.names, ValidationEntryTests.scalars, ValidationEntryTests.targets,
            ValidationOperationTests.missing, ValidationOperationTests.excess, ValidationOperationTests.values,
            ValidationMessageTests.syntax, ValidationMessageTests.fields, ValidationMessageTests.types,
            ValidationMessageTests.images, ValidationMessageTests.headers, ValidationMessageTests.legacy,
            ValidationTransportTests.options, ValidationConditionTests.bad, ValidationCampaignTests.refused,
            CampaignFieldTests.guards, CampaignFieldTests.personalFields,
        ]
        return rows.joined().map { Row(fields: $0.fields, reason: $0.reason) }
    }()

    static let accepted: [Row] = {
        var rows = ValidationAcceptanceTests.messages.map { EntryBuilder.fields(["message": $0]) }
        rows += ValidationAcceptanceTests.legacyMessages.map {
            EntryBuilder.fields(["message": $0, "format": "legacy"])
        }
        rows += ValidationOperationTests.groups.map { EntryBuilder.fields($0.1) }
        rows += CampaignFieldTests.accepted
        rows += [
            EntryBuilder.fields(["op": "subscribe", "topic": "/topics/news", "tokens": #"["a","b"]"#]),
            EntryBuilder.fields(["tokens": #" [ "a" , "a" ] "#, "id": "news_2026:1.a-B", "op": "send"]),
            EntryBuilder.fields(["fids": #"["c","d"]"#, "delivery": "at_most_once", "results": "none"]),
            EntryBuilder.fields(["topic": "ne~ws%20", "audience_size": "1000000000000", "validate_only": "1"]),
            EntryBuilder.fields(["condition": "'a' in topics || 'b' in topics", "audience_size": "0"]),
            EntryBuilder.fields(["audience": "users:{demo}:ü", "priority": "09", "not_before": "100000000000"]),
            EntryBuilder.fields(["group": "APA91bG", "expires_at": "99999999999999", "delivery": "replace"]),
            EntryBuilder.fields(["traceparent": ValidationEntryTests.trace, "tracestate": "a=1, t@v=x y,,"]),
            EntryBuilder.fields(["traceparent": "01" + ValidationEntryTests.trace.dropFirst(2) + "-more"]),
        ]
        return rows.map { Row(fields: $0) }
    }()

    @Test(.enabled(if: python != nil, "FANFARE_SDK_PYTHON names no Python")) func itAgreesWithTheWorkers() throws {
        for row in Self.accepted {
            let decision = EntryBuilder.validator().decide(entryID: EntryBuilder.entryID, fields: row.fields)
            guard case .accept = decision else {
                Issue.record("workers refuse \(Self.shown(row)): \(decision)")
                continue
            }
        }
        let rows = Self.accepted + Self.rejected
        let verdicts = try Self.verdicts(rows)
        try #require(verdicts.count == rows.count)
        var unused = Set(Self.leftToWorkers)
        for (row, isValid) in zip(rows, verdicts) {
            guard let reason = row.reason else {
                #expect(isValid, "stricter than the workers: \(Self.shown(row))")
                continue
            }
            let excuses = Self.leftToWorkers.filter { reason.contains($0) }
            #expect(!isValid || !excuses.isEmpty, "accepted although \(reason): \(Self.shown(row))")
            if isValid { unused.subtract(excuses) }
        }
        #expect(unused.isEmpty, "said by the schema after all: \(unused)")
    }

    private static func shown(_ row: Row) -> String {
        row.fields.map { "\($0.name)=\(String(decoding: $0.value, as: UTF8.self).prefix(200))" }.joined(separator: " ")
    }

    private static func verdicts(_ rows: [Row]) throws -> [Bool] {
        let lines = try rows.map { row in
            let object = Dictionary(
                row.fields.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) },
                uniquingKeysWith: { $1 }
            )
            return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
        }
        // A file, not a pipe, so that neither side can block the other.
        let input = FileManager.default.temporaryDirectory.appendingPathComponent("fanfare-\(UUID().uuidString)")
        try lines.joined(separator: "\n").write(to: input, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: input) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(python))
        process.arguments = [Repository.fixture("schema/job_schema.py"), file.path]
        process.standardInput = try FileHandle(forReadingFrom: input)
        let output = makePipe()
        process.standardOutput = output
        try startProcess(process)
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map { $0 == "true" }
    }
}
