import Foundation
import StreamWire
import TestSupport
import Testing

/// What was sent to a token, as workers write it and `fanfare token show` prints it.
@Suite struct TokenShowTests {
    private struct Story: Decodable {
        struct Delivery: Decodable {
            var job: String
            var status: String
            var error: String?
            var action: String?
        }
        struct Feedback: Decodable { var action: String }
        struct Project: Decodable {
            var project: String
            var jobs: [Delivery]
            var feedback: [Feedback]
        }
        var token: String
        var projects: [Project]
    }

    private func story(_ rig: Rig, _ configuration: String, _ token: String) async throws -> Story {
        let process = try ChildProcess(["token", "show", token, "--json", "-c", configuration])
        #expect(try await process.wait(seconds: 30) == 0, "\(process.stderr)")
        #expect(!process.stdout.contains(token))
        return try JSONDecoder().decode(Story.self, from: Data(process.stdout.utf8))
    }

    @Test func storyNamesWhatWasSentInAllProjects() async throws {
        try await withRig(projects: ["demo", "shop"]) { rig in
            try await rig.startSandbox()
            let file = try rig.configuration()
            try await rig.startWorker(file)
            let (good, bad) = ("good-0123456789", "sbx-unregistered-0123456789")
            let message = #"{"data":{"k":"v"}}"#
            let many = Rig.tokens((0..<400).map { "other-\($0)" } + [good, bad])
            try await rig.push(["id": "many", "message": message, "tokens": many])
            try await rig.push(["id": "one", "message": message, "token": good], in: "shop")
            try await rig.push(["id": "quiet", "message": message, "token": good, "results": "failures"], in: "shop")
            try await rig.finished("many")
            for id in ["one", "quiet"] { try await rig.finished(id, in: "shop") }

            let sent = try await story(rig, file, good)
            #expect(sent.projects.map { $0.jobs.map(\.job) } == [["many"], ["one"]], "quiet keeps no sent result")
            #expect(sent.projects.allSatisfy { $0.jobs.allSatisfy { $0.status == "sent" } && $0.feedback.isEmpty })
            let failed = try await story(rig, file, bad)
            #expect(failed.projects.map { $0.jobs.map(\.error) } == [["UNREGISTERED"], []])
            #expect(failed.projects.map { $0.feedback.map(\.action) } == [["remove"], []])
            #expect(try await rig.length("fingerprints") > 0)
        }
    }

    @Test func switchedOffIndexIsNotWritten() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let file = try rig.configuration(extra: "token_index: false")
            try await rig.startWorker(file)
            let tokens = Rig.tokens((0..<300).map { "other-\($0)" } + ["good-0123456789"])
            try await rig.push(["id": "many", "message": #"{"data":{"k":"v"}}"#, "tokens": tokens])
            try await rig.finished("many")
            #expect(try rig.redis.cli("--scan", "--pattern", "*fingerprints*").isEmpty)
            #expect(try await story(rig, file, "good-0123456789").projects.map { $0.jobs.map(\.job) } == [["many"]])
        }
    }
}
