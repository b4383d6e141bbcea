import FanfareConfiguration
import FanfareJSON
import Foundation
import RedisTransport
import TestSupport
import Testing

@testable import fanfare

/// A secret given in place of a path or a URL: no command may print a part of it.
@Suite struct SecretEchoTests {
    static let canary = "CANARY7f3a"

    enum Source: String, CaseIterable { case file, environment, flag }

    enum Shape: CaseIterable {
        /// The text of `"$(cat service-account.json)"`.
        case json
        /// The same on one line.
        case compactJSON
        case pem
        case secret
        case missingPath

        var text: String {
            switch self {
            case .json: return "{\n  \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n\(canary)\\n\"\n}\n"
            case .compactJSON: return #"{"private_key":"-----BEGIN PRIVATE KEY-----\n\#(canary)\n"}"#
            case .pem: return "-----BEGIN PRIVATE KEY-----\n\(canary)==\n-----END PRIVATE KEY-----\n"
            case .secret: return canary
            case .missingPath: return "/nowhere/\(canary)/key"
            }
        }

        var isContent: Bool { self != .secret && self != .missingPath }
    }

    /// The settings that take a path or a URL with a password, as paths of a configuration of the two projects below.
    private static let settings: [(path: String, flag: String?)] = Settings.all.compactMap { setting in
        switch setting.kind {
        case .file, .redisURL: break
        default: return nil
        }
        let project = setting.path.hasSuffix("server_key_file") ? "legacy" : "modern"
        return (setting.path.replacingOccurrences(of: "*", with: project), setting.flag)
    }

    /// A configuration file with the values, by the paths of settings.
    private static func yaml(_ values: [String: String]) -> String {
        func quoted(_ text: String) -> String { JSONValue.string(text).jsonText }
        func section(_ prefix: String, _ more: String = "") -> String {
            let own = values.filter { $0.key.hasPrefix(prefix) && !$0.key.dropFirst(prefix.count).contains(".") }
                .map { "\($0.key.dropFirst(prefix.count)): \(quoted($0.value))" }.sorted()
            return "{ " + (own + (more.isEmpty ? [] : [more])).joined(separator: ", ") + " }"
        }
        let single = ["projects_dir", "proxy_password_file"].compactMap { name in
            values[name].map { "\(name): \(quoted($0))" }
        }
        return """
            redis: \(section("redis."))
            tls: \(section("tls."))
            admin: \(section("admin.", #"listen: "127.0.0.1:0""#))
            telemetry: \(section("telemetry."))
            gateway: \(section("gateway."))
            \(single.joined())
            projects:
              modern: \(section("projects.modern."))
              legacy: \(section("projects.legacy.", "transport: legacy"))

            """
    }

    private static func variable(_ path: String) -> String {
        "FANFARE_" + path.uppercased().replacingOccurrences(of: ".", with: "_")
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var path: String
        var source: Source
        var shape: Shape
        var testDescription: String { "\(path), \(source), \(shape)" }
    }

    private static var rows: [Row] {
        settings.flatMap { setting in
            Source.allCases.filter { $0 != .flag || setting.flag != nil }.flatMap { source in
                Shape.allCases.map { Row(path: setting.path, source: source, shape: $0) }
            }
        }
    }

    /// Each setting alone, through everything that commands do with a configuration.
    @Test(arguments: rows)
    func wrongSettingIsNamedAndNotShown(row: Row) async throws {
        let folder = try TemporaryFolder()
        let value = row.shape.text
        // Each two of these go together.
        let pairs = ["redis", "gateway"].map { ["\($0).cert_file", "\($0).key_file"] }
        let paths = pairs.first { $0.contains(row.path) } ?? [row.path]
        let values = Dictionary(uniqueKeysWithValues: paths.map { ($0, value) })
        let variables = values.map { (Self.variable($0.key), $0.value) }
        let file = try folder.write("f.yaml", Self.yaml(row.source == .file ? values : [:]))
        var said: [String] = []
        do throws(ConfigurationError) {
            let configuration = try Configuration.load(
                file: file,
                environment: row.source == .environment ? Dictionary(uniqueKeysWithValues: variables) : [:],
                flags: row.source == .flag ? values : [:]
            )
            said += await Self.everything(about: configuration)
        } catch {
            said += error.faults
        }
        let place = row.source == .environment ? "(\(Self.variable(row.path)))" : row.source == .flag ? "(--" : "(line "
        let fault = said.first { $0.hasPrefix("\(row.path) \(place)") }
        #expect(fault != nil, "\(said)")
        if row.shape.isContent { #expect(fault?.contains("holds the content of a file, not ") == true, "\(said)") }
        #expect(!said.joined().contains(Self.canary), "\(said)")
        #expect(!said.joined().contains("PRIVATE KEY"), "\(said)")
    }

    private static func everything(about configuration: Configuration) async -> [String] {
        var said = configuration.warnings
        var dumped = ""
        dump(configuration, to: &dumped)
        said += [dumped, "\(configuration)", "\(configuration.redis.url)", "\(configuration.projects)"]
        do throws(ConfigurationError) {
            let secrets = try configuration.loadCheckedSecrets()
            said += ["\(secrets)"] + secrets.warnings
        } catch {
            said += error.faults
        }
        do throws(ConfigurationError) { said += try configuration.loadGateway().concerns.map(\.sentence) } catch {
            said += error.faults
        }
        do throws(ConfigurationError) {
            said.append("\(try configuration.deployment(try configuration.redisPasswords()))")
        } catch {
            said += error.faults
        }
        guard let deployment = try? RedisDeployment(url: "redis://h") else { return ["no deployment"] }
        let subject = Check.Subject(configuration: configuration, deployment: deployment)
        for finding in await Check.files.examine(subject) { said += [finding.line, "\(finding.json)"] }
        return said
    }

    private static let commands: [[String]] = [
        ["config", "check"], ["config", "check", "--json"], ["worker", "--log-level", "trace"],
        ["doctor", "--no-online"],
        ["doctor", "--no-online", "--json"], ["send", "--project", "modern", "--token", "t", "--title", "x"],
        ["job", "ls", "--project", "modern"],
    ]

    /// All settings at once, through the commands.
    @Test(arguments: [Source.file, .environment], Shape.allCases)
    func commandsDoNotShowWrongPaths(source: Source, shape: Shape) async throws {
        let redis = try RedisServer()
        let folder = try TemporaryFolder()
        let paths = Self.settings.map(\.path).filter { $0 != "redis.url" }
        #expect(paths.count >= 8)
        // A fault in a Redis setting ends a command before the others are read.
        for own in [paths, paths.filter { !$0.hasPrefix("redis.") }] {
            let values = Dictionary(uniqueKeysWithValues: own.map { ($0, shape.text) })
            let file = try folder.write("f.yaml", Self.yaml(source == .file ? values : [:]))
            var environment = ["FANFARE_REDIS_URL": "unix://\(redis.socketPath)"]
            if source == .environment {
                for (path, value) in values { environment[Self.variable(path)] = value }
                environment["GOOGLE_APPLICATION_CREDENTIALS"] = shape.text
            }
            for command in Self.commands {
                let run = try await CommandRun(command + ["-c", file], environment: environment)
                #expect(!(run.out + run.err).contains(Self.canary), "\(command): \(run.out)\(run.err)")
                if ["config", "worker"].contains(command[0]) || shape.isContent {
                    #expect(run.status == 78, "\(command)")
                }
            }
        }
    }

    /// Variables, URLs and flags that are not in the table of settings.
    @Test func secretsInVariablesAndFlagsAreNotShown() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("f.yaml", Self.yaml([:]))
        let nowhere = ["FANFARE_REDIS_URL": "redis://user:\(Self.canary)@127.0.0.1:1"]
        var lines: [(line: [String], environment: [String: String])] = []
        // The path of an option is shown; the content of a file in its place is not.
        for text in Shape.allCases.filter(\.isContent).map(\.text) {
            lines += [
                (["config", "check", "-c", text], [:]), (["config", "check"], ["FANFARE_CONFIG": text]),
                (["send", "--project", "modern", "--token", "t", "--message", text, "-c", file], nowhere),
                (["send", "--project", "modern", "--tokens-file", text, "--title", "x", "-c", file], nowhere),
            ]
        }
        for text in Shape.allCases.map(\.text) {
            lines += [
                (["dashboard", "--token-file", text, "-c", file], nowhere),
                (["dashboard", "--listen", "0.0.0.0:0", "-c", file], ["FANFARE_DASHBOARD_TOKEN": "\(text) \(text)"]),
                (["worker", "-c", file], ["FANFARE_ADMIN_TOKEN": text, "REDIS_URL": text]),
                (["config", "check", "-c", file, "--redis", text], [:]),
            ]
        }
        let url = "redis://user:\(Self.canary)@127.0.0.1:1"
        lines += [
            (["job", "ls", "--project", "modern", "--redis", url], [:]), (["doctor", url], [:]),
            (["doctor", "--no-online", "--json", "-c", file], nowhere), (["doctor", "--reddis=\(url)"], [:]),
            (["config", "check"], ["FANFARE_REDIS_URL": "redis://user:\(Self.canary)%zz@h"]),
            (["config", "check"], ["FANFARE_REDIS_URL": "redis://:\(Self.canary)#@h"]),
        ]
        // Some wait seconds for a Redis that is not there.
        try await withThrowingTaskGroup(of: (line: [String], run: CommandRun).self) { group in
            for (line, environment) in lines {
                group.addTask { (line, try await CommandRun(line, environment: environment)) }
            }
            for try await (line, run) in group {
                #expect(run.status != 0, "\(line)")
                #expect(!(run.out + run.err).contains(Self.canary), "\(line): \(run.out)\(run.err)")
            }
        }
    }

    @Test func parserErrorsAreMasked() {
        let pem = "-----BEGIN PRIVATE KEY-----\nMII=\n-----END PRIVATE KEY-----"
        let rows: [(message: String, line: [String], shown: String)] = [
            ("Unexpected argument 'redis://u:pa/ss@h'", ["redis://u:pa/ss@h"], "Unexpected argument 'redis://u:…@h'"),
            ("Invalid option: \(pem)", [pem], "Invalid option: [the content of a file]"),
            ("Unknown option '\(pem.prefix { $0 != "=" })'", [pem], "Unknown option '[the content of a file]'"),
            ("The value '{a:b,c:d}' is invalid", ["--at={a:b,c:d}"], "The value '[the content of a file]' is invalid"),
            ("Unknown option '--titel'", ["send", "--titel", "x"], "Unknown option '--titel'"),
        ]
        for row in rows { #expect(ArgumentMask.masked(row.message, arguments: row.line) == row.shown) }
    }
}
