import Foundation
import TestSupport
import Testing

/// A code block of the page Cookbook, and how to run it.
struct Recipe {
    enum Language: String { case bash, python }

    /// The page's sections that have code, with their blocks.
    static let sections: [(title: String, blocks: [(language: String, code: String)])] = {
        let page = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Cookbook.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        let sections = text.components(separatedBy: "\n## ").dropFirst().map { section in
            let blocks = section.matches(of: /```([a-z]+)\n((?:.*\n)*?)```/)
            return (
                title: String(section.prefix { $0 != "\n" }), blocks: blocks.map { (String($0.1), String($0.2)) }
            )
        }
        return sections.filter { !$0.blocks.isEmpty }
    }()

    /// The section with the lines that every Python recipe begins with.
    static let start = "Before you start"

    let language: Language
    let code: String

    /// Reads the only block of a language in a section.
    /// - Parameter changes: replacements in the code, each of which occurs in it.
    init(_ title: String, _ language: Language, changing changes: [String: String] = [:]) throws {
        func block(_ title: String) throws -> String {
            let section = try #require(Self.sections.first { $0.title == title }, "Cookbook.md has no \(title)")
            let blocks = section.blocks.filter { $0.language == language.rawValue }
            try #require(blocks.count == 1, "\(title): \(blocks.count) blocks")
            return blocks[0].code
        }
        var code = try block(title)
        for (old, new) in changes {
            try #require(code.contains(old), "\(title): \(old)")
            code = code.replacing(old, with: new)
        }
        self.language = language
        self.code = language == .python ? try block(Self.start) + code : code
    }
}

/// A folder in which recipes run: `redis-cli` and `fanfare` are set up for the rig, and `app.db` is a database of devices.
struct Kitchen {
    static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]

    private let folder: TemporaryFolder
    private let environment: [String: String]

    init(_ rig: Rig, configuration: String) throws {
        folder = try TemporaryFolder()
        for (name, command) in [
            ("redis-cli", "redis-cli -s '\(rig.redis.socketPath)'"), ("fanfare", ChildProcess.executable.path),
        ] {
            // The shell's `command` would find the script itself.
            let lines = "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\nexec \(command) \"$@\"\n"
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755],
                ofItemAtPath: folder.write(name, lines)
            )
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        environment = [
            "PATH": "\(folder.path):\(path)", "REDIS_URL": "unix://\(rig.redis.socketPath)",
            "FANFARE_CONFIG": configuration,
        ]
    }

    /// Runs SQL on `app.db` and returns its output.
    @discardableResult
    func sql(_ statements: String) throws -> String {
        let output = try runProgram("/usr/bin/sqlite3", [folder.file("app.db")], input: Array(statements.utf8))
        return String(decoding: output, as: UTF8.self)
    }

    /// Creates the table of devices.
    func addDevices(_ devices: [(token: String, zone: String)]) throws {
        let rows = devices.map { "('\($0.token)','\($0.zone)')" }.joined(separator: ",")
        try sql("CREATE TABLE devices(token TEXT PRIMARY KEY, zone TEXT); INSERT INTO devices VALUES \(rows);")
    }

    /// Runs a recipe, expects it to succeed and returns its standard output.
    /// - Parameters:
    ///   - query: of the URL of Redis, such as `?protocol=3`.
    ///   - isKilled: whether it kills itself instead.
    @discardableResult
    func cook(_ recipe: Recipe, query: String = "", isKilled: Bool = false) async throws -> String {
        let file = try folder.write("recipe", recipe.code)
        let interpreter = recipe.language == .python ? try #require(Self.python) : "/bin/bash"
        let process = try ChildProcess(
            // The shell that starts it reports its death as a status.
            ["-c", "cd '\(folder.path)' && '\(interpreter)' '\(file)'; exit $?"],
            environment: environment.merging(["REDIS_URL": environment["REDIS_URL", default: ""] + query]) { $1 },
            executable: URL(fileURLWithPath: "/bin/bash")
        )
        let status = try await process.wait(seconds: 60)
        #expect((status == 0) != isKilled, "\(process.stderr)")
        return process.stdout
    }
}
