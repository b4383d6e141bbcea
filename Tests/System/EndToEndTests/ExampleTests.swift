import FanfareClient
import Foundation
import TestSupport
import Testing

/// The examples of the documentation, run as they stand there: pushed, followed, results and feedback read by a group.
@Suite struct ExampleTests {
    static let folder = Repository.root.appendingPathComponent("Sources/Worker/FanfareWorker/Fanfare.docc/Examples")

    /// How one of them is run on this machine; nil where what it needs is not installed.
    struct Program: Sendable, CustomTestStringConvertible {
        var file: String
        var command: [String]
        var environment: [String: String] = [:]
        var testDescription: String { file }
    }

    static let programs: [Program] = {
        let files = FileManager.default
        var found = [Program(file: "push.sh", command: ["/bin/bash"])]
        if let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"] {
            found.append(Program(file: "push.py", command: [python]))
        }
        // Debian's modules for Node are found by this path alone.
        if files.fileExists(atPath: "/usr/share/nodejs/redis"), files.isExecutableFile(atPath: "/usr/bin/node") {
            let path = ["NODE_PATH": "/usr/share/nodejs"]
            found.append(Program(file: "push.cjs", command: ["/usr/bin/node"], environment: path))
        }
        let go = "/usr/bin/go"
        if files.fileExists(atPath: "/usr/share/gocode/src/github.com/gomodule/redigo"),
            files.isExecutableFile(atPath: go)
        {
            // Debian's Go packages are laid out as before there were modules.
            let environment = ["GO111MODULE": "off", "GOPATH": "/usr/share/gocode"]
            found.append(Program(file: "push.go", command: [go, "run"], environment: environment))
        }
        return found
    }()

    @Test(arguments: programs) func itPushesFollowsAndReads(_ program: Program) async throws {
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
            // Again: nothing is sent, and nothing is read twice.
            let sends = try await rig.stats().sends
            let second = try await run()
            #expect(second == "pushed news-1\n\(end)\n")
            try await Wait.until("the second push to be noticed\n\(rig.logs)") {
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

    /// The example of the Swift library, which is compiled into these tests.
    @Test func theClientLibraryPushesFollowsAndReads() async throws {
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
            try await Wait.until("the second push to be noticed\n\(rig.logs)") {
                try await rig.job("news-1")["duplicates"] == "1"
            }
            for stream in ["results", "feedback"] {
                let groups = try rig.redis.cli("XINFO", "GROUPS", "fanfare:{demo}:\(stream)")
                #expect(groups.contains("newsletter-swift") && groups.contains("pending\n0\n"), "\(groups)")
            }
        }
    }
}
