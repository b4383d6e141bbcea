import FanfareClient
import Foundation
import TestSupport
import Testing

/// Runs the examples of the documentation unchanged: each pushes a job and a personal job, follows both and reads results
/// and feedback.
@Suite struct ExampleTests {
    static let folder = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Examples")

    /// An example program and how to run it on this machine.
    struct Program: Sendable, CustomTestStringConvertible {
        var file: String
        /// What runs the file; nil if it is built first.
        var interpreter: String?
        /// As the file's own usage lines say.
        var environment: [String: String] = [:]
        /// Of the URL of Redis.
        var query = ""
        var testDescription: String { file + query }

        var path: String { ExampleTests.folder.appendingPathComponent(file).path }
    }

    /// The examples whose language and client library are installed.
    static let programs: [Program] = {
        let files = FileManager.default
        var found = [Program(file: "push.sh", interpreter: "/bin/bash")]
        if let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"] {
            // Each protocol gives the replies another shape.
            for query in ["", "?protocol=2", "?protocol=3"] {
                found.append(Program(file: "push.py", interpreter: python, query: query))
            }
        }
        if files.fileExists(atPath: "/usr/share/nodejs/redis"), files.isExecutableFile(atPath: "/usr/bin/node") {
            let path = ["NODE_PATH": "/usr/share/nodejs"]
            found.append(Program(file: "push.cjs", interpreter: "/usr/bin/node", environment: path))
        }
        if files.fileExists(atPath: "/usr/share/gocode/src/github.com/gomodule/redigo"),
            files.isExecutableFile(atPath: go)
        {
            found.append(Program(file: "push.go", environment: ["GO111MODULE": "off", "GOPATH": "/usr/share/gocode"]))
        }
        let php = (try? files.contentsOfDirectory(atPath: "/usr/lib/php")) ?? []
        if php.contains(where: { files.fileExists(atPath: "/usr/lib/php/\($0)/redis.so") }) {
            found.append(Program(file: "push.php", interpreter: "/usr/bin/php"))
        }
        let gems = try? files.contentsOfDirectory(atPath: "/usr/share/rubygems-integration/all/specifications")
        if (gems ?? []).contains(where: { $0.hasPrefix("redis-") }) {
            found.append(Program(file: "push.rb", interpreter: "/usr/bin/ruby"))
        }
        return found
    }()

    private static let go = "/usr/bin/go"

    /// The command that runs the example. A Go program is built, because `go run` exits with a code of its own.
    private func command(_ program: Program, in folder: URL) async throws -> [String] {
        let usage = try String(contentsOfFile: program.path, encoding: .utf8).prefix(700)
        for (name, value) in program.environment { #expect(usage.contains("\(name)=\(value)"), "the usage lines") }
        if let interpreter = program.interpreter { return [interpreter, program.path] }
        let built = folder.appendingPathComponent("push").path
        let build = try ChildProcess(
            ["build", "-o", built, program.path],
            environment: program.environment.merging(["GOCACHE": folder.path + "/go"]) { $1 },
            executable: URL(fileURLWithPath: Self.go)
        )
        let status = try await build.wait(seconds: 120)
        try #require(status == 0, "\(build.stderr)")
        return [built]
    }

    /// Runs a command with arguments and returns its exit code and output.
    private func run(
        _ command: [String],
        _ arguments: [String],
        _ program: Program,
        port: UInt16
    ) async throws -> (status: Int32, out: String, err: String) {
        let process = try ChildProcess(
            Array(command.dropFirst()) + arguments,
            environment: program.environment.merging(["REDIS_URL": "redis://127.0.0.1:\(port)/0\(program.query)"]) {
                $1
            },
            executable: URL(fileURLWithPath: command[0])
        )
        return (try await process.wait(seconds: 60), process.stdout, process.stderr)
    }

    @Test(arguments: programs) func exampleProgramPushesFollowsAndReads(_ program: Program) async throws {
        try await withRig(redis: RedisServer(port: .plain)) { rig in
            try await rig.startSandbox()
            try await rig.startWorker(rig.configuration())
            // An older result, which the example's group does not read.
            _ = try rig.redis.cli("XADD", "fanfare:{demo}:results", "*", "job", "older", "results", "[]")
            let command = try await command(program, in: rig.directory)
            func push(_ id: String, _ tokens: String...) async throws -> (status: Int32, out: String, err: String) {
                try await run(command, ["demo", id] + tokens, program, port: rig.redis.port)
            }
            let first = try await push("news-1", "a", "b", "sbx-unregistered-c")
            let start = "pushed news-1 and news-1-personal\n"
            let ends = ["news-1", "news-1-personal"].map { "\($0) is done: 2 sent, 1 failed, 0 unknown of 3\n" }
            #expect(first.status == 1, "one failed: \(first)")
            #expect(first.out.hasPrefix(start) && first.out.hasSuffix(ends[1]), "\(first)")
            #expect(first.out.contains(ends[0]), "\(first)")
            #expect(!first.out.contains("older"), "\(first)")
            if program.file == "push.sh" {
                #expect(first.out.contains(#""i":2,"token":"sbx-unregistered-c","status":"failed""#), "\(first)")
                #expect(first.out.contains("\nsbx-unregistered-c\naction\nremove\n"), "\(first)")
            } else {
                for job in ["news-1", "news-1-personal"] {
                    for index in 0...1 { #expect(first.out.contains("\(job) \(index) sent -\n"), "\(first)") }
                    #expect(first.out.contains("\(job) 2 failed UNREGISTERED\n"), "\(first)")
                }
                #expect(first.out.contains("feedback remove sbx-unregistered-c\n"), "\(first)")
            }
            let received = try await rig.deliveries("a")
            #expect(received.count == 2 && received.contains { $0.contains("Hello Ana") }, "\(received)")
            // A second run with the same id sends nothing and reads nothing twice.
            let sends = try await rig.stats().sends
            let second = try await push("news-1", "a", "b", "sbx-unregistered-c")
            #expect(second.out == start + ends.joined() && second.status == 1, "\(second)")
            for job in ["news-1", "news-1-personal"] {
                try await Wait.until("the second push of \(job) to count as a duplicate\n\(rig.logs)") {
                    try await rig.job(job)["duplicates"] == "1"
                }
            }
            let sendsAfter = try await rig.stats().sends
            #expect(sendsAfter == sends)
            for stream in ["results", "feedback"] {
                let groups = try rig.redis.cli("XINFO", "GROUPS", "fanfare:{demo}:\(stream)")
                #expect(groups.contains("pending\n0\n"), "\(groups)")
            }
        }
    }

    @Test(arguments: programs) func exampleProgramExitsAsItsUsageSays(_ program: Program) async throws {
        try await withRig(redis: RedisServer(port: .plain)) { rig in
            try await rig.startSandbox()
            try await rig.startWorker(rig.configuration())
            let command = try await command(program, in: rig.directory)
            let sent = try await run(command, ["demo", "news-1", "a"], program, port: rig.redis.port)
            #expect(sent.status == 0, "\(sent)")
            #expect(sent.out.hasSuffix("\nnews-1-personal is done: 1 sent, 0 failed, 0 unknown of 1\n"), "\(sent)")
            let rejected = try await run(command, ["demo", "news-2", "no token"], program, port: rig.redis.port)
            #expect(rejected.status == 1, "\(rejected)")
            #expect(rejected.err.contains("news-2 is rejected: tokens[0]: byte 2 is not one of"), "\(rejected)")
            #expect(rejected.out == "pushed news-2 and news-2-personal\n", "\(rejected)")
            let unreachable = try await run(command, ["demo", "news-3", "a"], program, port: 1)
            #expect(unreachable.status == 69 && !unreachable.err.isEmpty, "\(unreachable)")
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
