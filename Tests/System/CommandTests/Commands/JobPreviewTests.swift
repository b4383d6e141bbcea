import Foundation
import TestSupport
import Testing

@testable import fanfare

@Suite struct JobPreviewTests {
    private let folder: TemporaryFolder

    private static let job = """
        {"message":{"notification":{"title":"Hi {{name}}"}},
        "variants":{"es":{"notification":{"title":"Hola {{name|ti}}"}}},
        "recipients":[{"token":"A","vars":{"name":"Ana"}},{"token":"B","variant":"es-MX"},{"token":"C"},
        {"token":"D","vars":{"name":[]}}]}
        """

    init() throws { folder = try TemporaryFolder() }

    private func run(_ command: String, _ text: String, _ more: [String] = []) async throws -> CommandRun {
        _ = try folder.write("job.json", text)
        return try await CommandRun(["job", command, "job.json"] + more, folder: folder.path)
    }

    @Test func messageOfARecipientIsPrinted() async throws {
        let first = try await run("preview", Self.job)
        #expect(first.status == 0, "\(first.err)")
        #expect(first.out == #"{"message":{"token":"A","notification":{"title":"Hi Ana"}}}"# + "\n")
        let second = try await run("preview", Self.job, ["--recipient", "1", "--json"])
        #expect(second.out == #"{"message":{"token":"B","notification":{"title":"Hola ti"}}}"# + "\n")
        let file = try folder.write("c.yaml", "projects: { demo: { transport: legacy, server_key_file: k } }\n")
        let legacy = try await run("preview", Self.job, ["-c", file])
        #expect(legacy.out == #"{"to":"A","notification":{"title":"Hi Ana"}}"# + "\n", "\(legacy.err)")
    }

    @Test func recipientThatWouldFailExitsWith1AndItsReason() async throws {
        let run = try await run("preview", Self.job, ["--recipient", "2"])
        #expect(run.status == 1 && run.out.isEmpty)
        #expect(run.err == "fanfare: recipients[2] would fail: vars.name: missing\n")
    }

    @Test(arguments: [
        (#"{"token":"T","message":{}}"#, [], 64, "fanfare: job.json: not a personal job"),
        (job, ["--recipient", "4"], 64, "fanfare: --recipient: 4 is not 0 to 3; the job has 4 recipients"),
        (#"{"audience":"audience:{p}:x","audience_format":"json","message":{}}"#, [], 64, "job.json:1: audience: only"),
        ("{\"token\":\"T\",\"message\":{}}\n{\"token\":\"T\",\"message\":{}}", [], 64, "fanfare: job.json: 2 jobs"),
        ("{\"recipients\":[{\"token\":\"T\"}],\n\"message\":{\"x\":1}}", [], 1, "job.json:2: message.x: unknown"),
        (
            "{\"recipients\":[{\"token\":\"T\"},\n{\"token\":\"T T\"}],\"message\":{}}", [], 1,
            "job.json:2: recipients[1]."
        ),
    ])
    func jobWithoutAPreviewSaysWhy(text: String, more: [String], status: Int32, start: String) async throws {
        let run = try await run("preview", text, more)
        #expect(run.status == status && run.out.isEmpty && run.err.hasPrefix(start), "\(run)")
    }

    @Test func checkCountsTheRecipientsThatWouldFail() async throws {
        let run = try await run("check", Self.job)
        #expect(run.status == 0, "\(run.err)")
        #expect(
            run.out == "job.json: ok: to 4 recipients\n"
                + "job.json: warning: 2 of 4 recipients would fail, first recipients[2]: vars.name: missing\n"
        )
        let json = try await self.run("check", Self.job, ["--json"])
        #expect(json.status == 0)
        let end = #""recipients":4,"batches":1,"failing":2,"first_failing":{"i":2,"reason":"vars.name: missing"}}"#
        #expect(json.out.hasSuffix(end + "\n"), "\(json.out)")
        let fine = try await self.run("check", #"{"recipients":[{"token":"T"}],"message":{}}"#)
        #expect(fine.status == 0 && fine.out == "job.json: ok: to 1 recipient\n", "\(fine.out)")
    }
}
