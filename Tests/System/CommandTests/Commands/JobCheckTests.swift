import Foundation
import TestSupport
import Testing

@testable import fanfare

@Suite struct JobCheckTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func check(_ text: String, _ more: [String] = []) async throws -> CommandRun {
        _ = try folder.write("job.json", text)
        return try await CommandRun(["job", "check", "job.json"] + more, folder: folder.path)
    }

    static let message = #""message":{"notification":{"title":"Hi"}}"#

    private static func tokens(_ count: Int) -> String {
        "[" + (0..<count).map { "\"t\($0)\"" }.joined(separator: ",") + "]"
    }

    static let fine: [(text: String, end: String, json: String)] = [
        (
            "{\"token\":\"a\",\(message)}", "ok: to 1 token; message of 7 bytes, at most 4096\n",
            #"{"ok":true,"op":"send","class":"single","recipients":1,"batches":1,"message_bytes":7,"message_limit":4096}"#
        ),
        ("\u{FEFF}{\"token\":\"a\",\r\n\(message)}\r\n", "ok: to 1 token; message of 7 bytes", #""ok":true"#),
        (
            "{\"tokens\":\(tokens(2_500)),\"id\":\"n\",\(message)}",
            "ok: fan-out to 2500 tokens in 3 batches; message of 7",
            #"{"ok":true,"id":"n","op":"send","class":"fanout","recipients":2500,"batches":3,"message_bytes":7,"#
        ),
        (
            "{\"topic\":\"news\",\"priority\":9,\"message\":\"{}\"}",
            "ok: fan-out to topic news; message of 0 bytes, at most 2048",
            #""class":"broadcast""#
        ),
        ("{\"group\":\"k\",\(message)}", "ok: to a device group", #""class":"group""#),
        (
            "{\"op\":\"subscribe\",\"topic\":\"t\",\"tokens\":[\"a\"]}", "ok: subscribe, 1 token, topic t\n",
            #""class":"managed""#
        ),
    ]

    @Test(arguments: fine)
    func validJobIsDescribed(text: String, end: String, json: String) async throws {
        let run = try await check(text)
        #expect(run.status == 0 && run.out.hasPrefix("job.json: \(end)"), "\(run.out)\(run.err)")
        let object = try await check(text, ["--json"])
        #expect(object.status == 0 && object.out.contains(json), "\(object.out)")
    }

    @Test(arguments: [
        ("{\n\"token\":\"a\",\n\"message\":{\n\"bogus\":1}}", "job.json:4: message.bogus: unknown field"),
        ("{\"tokens\":[\"a\",\n\"b c\"],\(message)}", "job.json:2: tokens[1]: byte 1 is not one of"),
        ("{\"token\":\"a\",\n\"message\":\"{\"}", "job.json:2: message: not JSON at byte 1"),
        ("{\"token\":\"a\",\n\"prority\":5,\(message)}", "job.json:2: prority: unknown field"),
        ("{\"token\":null,\(message)}", "job.json:1: token: null; leave the field out"),
        ("{\(message)}", "job.json: target: required"),
        ("{\n\"token\" \"a\"}", "job.json:2:9: not JSON: missing colon after a name"),
        ("[]", "job.json: must be a JSON object"),
        ("", "job.json:1:1: not JSON: the text ends"),
        ("{\"audience\":\"audience:{demo}:x\",\(message)}", "job.json:1: audience: its key holds the project's id"),
        (
            "{\"token\":\"a\",\"message\":" + String(repeating: "[", count: 200_000),
            "job.json:1:87: not JSON: nested deeper"
        ),
    ])
    func brokenJobIsReportedWithItsLine(text: String, start: String) async throws {
        let run = try await check(text)
        #expect(run.status == 1 && run.out.hasPrefix(start), "\(run.out)\(run.err)")
        let json = try await check(text, ["--json"])
        #expect(json.status == 1 && json.out.hasPrefix(#"{"ok":false,"path":""#), "\(json.out)")
    }

    @Test func eachLineOfNDJSONIsAJob() async throws {
        let run = try await check(
            "{\"token\":\"a\",\(Self.message)}\n\n{\"token\":\"a b\",\(Self.message)}\nnonsense\n"
        )
        #expect(run.status == 1)
        let lines = run.out.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("job.json: ok: to 1 token"), "\(run.out)")
        #expect(lines[1].hasPrefix("job.json:3: token: byte 1") && lines[2].hasPrefix("job.json:4:1: not JSON"))
    }

    @Test func rulesAreThoseOfTheConfiguredProject() async throws {
        let file = try folder.write("c.yaml", "projects: { demo: { transport: legacy, server_key_file: k } }\n")
        let run = try await check("{\"fid\":\"a\",\(Self.message)}", ["-c", file])
        #expect(
            run.status == 1 && run.out.contains("fid: only with the v1 transport, this project's is legacy"),
            "\(run.out)"
        )
        let key = "{\"audience\":\"audience:{demo}:x\",\(Self.message)}"
        #expect(try await check(key, ["-c", file]).status == 0)
        #expect(try await check(key, ["-c", file, "--project", "other"]).out.contains("its hash tag must be {other}"))
    }

    @Test func unreadableFileIsNamedAndExitsWith64() async throws {
        for file in ["gone", ".", "/dev/zero"] {
            let run = try await CommandRun(["job", "check", file], folder: folder.path)
            #expect(run.status == 64 && run.out.isEmpty && run.err.hasPrefix("fanfare: \(file): "), "\(run.err)")
        }
    }
}
