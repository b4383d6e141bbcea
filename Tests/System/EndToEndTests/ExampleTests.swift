import FanfareClient
import Foundation
import TestSupport
import Testing

/// Runs the examples of the documentation unchanged: each pushes a job, follows it and reads results and feedback.
@Suite struct ExampleTests {
    static let folder = Repository.root.appendingPathComponent("Sources/Worker/FanfareWorker/Fanfare.docc/Examples")

    /// An example program and the command that runs it on this machine.
    struct Program: Sendable, CustomTestStringConvertible {
        var file: String
        var command: [String]
        var environment: [String: String] = [:]
        var testDescription: String { file }
    }

    /// The examples whose language and client library are installed.
    static let programs: [Program] = {
        let files = FileManager.default
        var found = [Program(file: "push.sh", command: ["/bin/bash"])]
        if let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"] {
            found.append(Program(file: "push.py", command: [python]))
        }
        // Node finds Debian's modules only through NODE_PATH.
        if files.fileExists(atPath: "/usr/share/nodejs/redis"), files.isExecutableFile(atPath: "/usr/bin/node") {
            let path = ["NODE_PATH": "/usr/share/nodejs"]
            found.append(Program(file: "push.cjs", command: ["/usr/bin/node"], environment: path))
        }
        let go = "/usr/bin/go"
        if files.fileExists(atPath: "/usr/share/gocode/src/github.com/gomodule/redigo"),
            files.isExecutableFile(atPath: go)
        {
            // Debian's Go packages use the GOPATH layout that preceded modules.
            let environment = ["GO111MODULE": "off", "GOPATH": "/usr/share/gocode"]
            found.append(Program(file: "push.go", command: [go, "run"], environment: environment))
        }
        return found
    }()

    @Test(arguments: programs) func exampleProgramPushesFollowsAndReads(_ program: Program) async throws {
        try await withRig(redis: RedisServer(port: .plain)) { rig in
            try await rig.startSandbox()
            try await rig.startWorker(rig.configuration())
            func run() async throws -> String {
                var environment = program.environment
                environment["REDIS_URL"] = "redis://127.0.0.1:\(rig.redis.port)/0"
                environment["GOCACHE"] = rig.directory.appendingPathComponent("go").path
                let script = Self.folder.appendingPathComponent(program.file).path
                let arguments =
                    program.command.dropFirst() + [script, "demo", "news-1", "a", "b", "sbx-unregistered-c"]
                let process = try ChildProcess(
                    Array(arguments),
                    environment: environment,
                    executable: URL(fileURLWithPath: program.command[0])
                )
                let status = try await process.wait(seconds: 120)
                #expect(status == 0, "\(process.stderr)")
                return process.stdout
            }
            let first = try await run()
            let end = "news-1 is done: 2 sent, 1 failed, 0 unknown of 3"
            #expect(first.hasPrefix("pushed news-1\n") && first.hasSuffix("\(end)\n"), "\(first)")
            if program.file == "push.sh" {
                #expect(first.contains(#""i":2,"token":"sbx-unregistered-c","status":"failed""#), "\(first)")
                #expect(first.contains("\nsbx-unregistered-c\naction\nremove\n"), "\(first)")
            } else {
                for index in 0...1 { #expect(first.contains("news-1 \(index) sent -\n"), "\(first)") }
                #expect(first.contains("news-1 2 failed UNREGISTERED\n"), "\(first)")
                #expect(first.contains("feedback remove sbx-unregistered-c\n"), "\(first)")
            }
            // A second run with the same id sends nothing and reads nothing twice.
            let sends = try await rig.stats().sends
            let second = try await run()
            #expect(second == "pushed news-1\n\(end)\n")
            try await Wait.until("the second push to count as a duplicate\n\(rig.logs)") {
                try await rig.job("news-1")["duplicates"] == "1"
            }
            let sendsAfter = try await rig.stats().sends
            #expect(sendsAfter == sends)
            for stream in ["results", "feedback"] {
                let groups = try rig.redis.cli("XINFO", "GROUPS", "fanfare:{demo}:\(stream)")
                #expect(groups.contains("pending\n0\n"), "\(groups)")
            }
        }
    }

    /// The Swift example, `ClientExample.swift`, which is compiled into these tests.
    @Test func clientLibraryExamplePushesFollowsAndReads() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(rig.configuration())
            for _ in 1...2 {
                let status = try await announce(
                    to: ["a", "b", "sbx-unregistered-c"],
                    id: "news-1",
                    project: "demo",
                    url: "unix://\(rig.redis.socketPath)"
                )
                #expect(status.state == .done && status.sent == 2 && status.failed == 1, "\(status)")
            }
            try await Wait.until("the second push to count as a duplicate\n\(rig.logs)") {
                try await rig.job("news-1")["duplicates"] == "1"
            }
            for stream in ["results", "feedback"] {
                let groups = try rig.redis.cli("XINFO", "GROUPS", "fanfare:{demo}:\(stream)")
                #expect(groups.contains("newsletter-swift") && groups.contains("pending\n0\n"), "\(groups)")
            }
        }
    }
}
