import Foundation
import TestSupport
import Testing

/// The page TestWithoutGoogle: Google's own clients, unmodified, against the sandbox on port 443. Programs and recipes
/// are the page's, as printed.
@Suite struct EmulatorTests {
    static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]
    /// Namespaces, a port below 1,024 and a mount need it.
    static let isRoot = getuid() == 0
    static let hasGoClient = FileManager.default.fileExists(
        atPath: "/usr/share/gocode/src/google.golang.org/api/fcm/v1"
    )

    /// How the page leads FCM's names to the sandbox.
    enum Route: CaseIterable {
        /// `/etc/hosts`, and variables.
        case hosts
        /// A namespace of its own.
        case namespace
    }

    @Test(.enabled(if: python != nil && isRoot, "needs FANFARE_SDK_PYTHON and root"), arguments: Route.allCases)
    func pythonClientOfThePageSends(route: Route) async throws {
        let python = try #require(Self.python)
        let output = try await Self.run("python", file: "send.py", command: "'\(python)' send.py", route)
        #expect(
            output.client.count == 2 && output.client.first?.hasPrefix("projects/demo/messages/") == true,
            "\(output)"
        )
        #expect(output.client.last == "UnregisteredError")
        #expect(output.deliveries.contains(#""title":"Hello""#), "\(output)")
        #expect(!output.errors.contains("DeprecationWarning"), "\(output.errors)")
    }

    @Test(.enabled(if: hasGoClient && isRoot, "needs golang-google-api-dev and root"))
    func goClientOfThePageSends() async throws {
        let command = "GO111MODULE=off GOPATH=/usr/share/gocode go run send.go"
        let output = try await Self.run("go", file: "send.go", command: command, .namespace)
        #expect(output.client.first?.hasPrefix("projects/demo/messages/") == true, "\(output)")
        #expect(output.client.contains { $0.contains("Error 404") })
        #expect(output.client.contains { $0.contains("UNREGISTERED") })
        #expect(output.deliveries.contains(#""title":"Hello""#), "\(output)")
    }

    private struct Output {
        var client: [String]
        var deliveries: String
        var errors: String
    }

    private static func blocks(_ language: String) throws -> [String] {
        let page = Repository.root.appendingPathComponent(
            "Sources/Documentation/Fanfare.docc/TestWithoutGoogle.md"
        )
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.matches(of: /```([a-z]+)\n((?:.*\n)*?)```/).filter { $0.1 == language }.map { String($0.2) }
    }

    /// - Parameter language: of the page's block of code, which is run as `file`.
    private static func run(
        _ language: String,
        file: String,
        command: String,
        _ route: Route
    ) async throws -> Output {
        let programs = try blocks(language)
        #expect(programs.count == 1)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.write(file, try #require(programs.first))
        let deliveries = "http://127.0.0.1:8480/deliveries?token=my-phone"
        for (name, lines) in [
            ("fanfare", "exec '\(ChildProcess.executable.path)' \"$@\" --xmpp-port 0 >&2"), ("sudo", "exec \"$@\""),
            ("run-my-tests", "\(command)\necho ----\ncurl -s '\(deliveries)'"),
        ] {
            let script = try folder.write(name, "#!/bin/sh\n\(lines)\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        }
        let start = "cd '\(folder.path)' && export HOME=$PWD PATH=$PWD:$PATH\n"
        let process = try ChildProcess(
            [
                "--mount", "--net", "--pid", "--mount-proc", "--fork", "--kill-child", "bash", "-c",
                start + script(route),
            ],
            executable: URL(fileURLWithPath: "/usr/bin/unshare")
        )
        _ = try await process.wait(seconds: 300)
        let parts = process.stdout.components(separatedBy: "----\n")
        #expect(parts.count == 2, "\(process.stdout)\n\(process.stderr)")
        return Output(
            client: parts[0].split(separator: "\n").map(String.init),
            deliveries: parts.count == 2 ? parts[1] : "",
            errors: process.stderr
        )
    }

    /// The page's lines. The namespace around them has a file of its own for names, so that they change no file of this
    /// machine.
    private static func script(_ route: Route) throws -> String {
        let blocks = try blocks("sh")
        switch route {
        case .namespace: return try #require(blocks.first { $0.contains("unshare") })
        case .hosts:
            let block = try #require(blocks.first { $0.contains(">> /etc/hosts") })
            let sandbox = try #require(block.split(separator: "\n").first { $0.hasPrefix("fanfare sandbox") })
            let waiting =
                "until curl -s -o /dev/null http://127.0.0.1:8480/stats; do kill -0 $! || exit; sleep 0.1; done\n"
            return "ip link set lo up; echo '127.0.0.1 localhost' > names; mount --bind names /etc/hosts\n"
                // In a shell of its own, as the reader has it.
                + block.replacing(
                    sandbox,
                    with: "fanfare \(sandbox.split(separator: "#")[0].dropFirst(8)) &\n\(waiting)"
                )
                + "./run-my-tests; kill $!\n"
        }
    }
}
