import Foundation
import TestSupport
import Testing

/// The page TestWithoutGoogle: Google's own clients, unmodified, against the sandbox on port 443, in a namespace in which
/// FCM's names lead to it. The programs are those of the page.
@Suite struct EmulatorTests {
    static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]
    /// Namespaces, a port below 1,024 and a mount need it.
    static let isRoot = getuid() == 0
    static let hasGoClient = FileManager.default.fileExists(
        atPath: "/usr/share/gocode/src/google.golang.org/api/fcm/v1"
    )

    @Test(.enabled(if: python != nil && isRoot, "needs FANFARE_SDK_PYTHON and root"))
    func pythonClientOfThePageSends() async throws {
        let python = try #require(Self.python)
        let output = try await Self.run("python", file: "send.py", command: "'\(python)' -W ignore send.py")
        #expect(output.client.count == 2 && output.client[0].hasPrefix("projects/demo/messages/"), "\(output)")
        #expect(output.client.last == "UnregisteredError")
        #expect(output.deliveries.contains(#""title":"Hello""#), "\(output)")
    }

    @Test(.enabled(if: hasGoClient && isRoot, "needs golang-google-api-dev and root"))
    func goClientOfThePageSends() async throws {
        let command = "GO111MODULE=off GOPATH=/usr/share/gocode go run send.go"
        let output = try await Self.run("go", file: "send.go", command: command)
        #expect(output.client.first?.hasPrefix("projects/demo/messages/") == true, "\(output)")
        #expect(output.client.contains { $0.contains("Error 404") })
        #expect(output.client.contains { $0.contains("UNREGISTERED") })
        #expect(output.deliveries.contains(#""title":"Hello""#), "\(output)")
    }

    private struct Output {
        var client: [String]
        var deliveries: String
    }

    /// - Parameter language: of the page's block of code, which is run as `file`.
    private static func run(_ language: String, file: String, command: String) async throws -> Output {
        let page = Repository.root.appendingPathComponent(
            "Sources/Documentation/Fanfare.docc/TestWithoutGoogle.md"
        )
        let text = try String(contentsOf: page, encoding: .utf8)
        let blocks = text.matches(of: /```([a-z]+)\n((?:.*\n)*?)```/).filter { $0.1 == language }
        #expect(blocks.count == 1)
        let folder = try TemporaryFolder()
        _ = try folder.write(file, String(try #require(blocks.first).2))
        let script = """
            cd '\(folder.path)'
            ip link set lo up
            echo '127.0.0.1 localhost fcm.googleapis.com iid.googleapis.com oauth2.googleapis.com' > hosts
            mount --bind hosts /etc/hosts
            '\(ChildProcess.executable.path)' sandbox --state sandbox --project demo --port 443 --xmpp-port 0 --json > ports &
            sandbox=$!
            # The line with the ports is printed when they listen.
            for attempt in $(seq 600); do grep -q control_port ports && break; sleep 0.1; done
            export GOOGLE_APPLICATION_CREDENTIALS=$PWD/sandbox/service-account-demo.json HOME=$PWD
            export REQUESTS_CA_BUNDLE=$PWD/sandbox/ca.pem SSL_CERT_FILE=$PWD/sandbox/ca.pem
            \(command)
            echo ----
            curl -s 'http://127.0.0.1:8480/deliveries?token=my-phone'
            kill $sandbox
            """
        let process = try ChildProcess(
            ["--mount", "--net", "--pid", "--mount-proc", "--fork", "--kill-child", "bash", "-c", script],
            executable: URL(fileURLWithPath: "/usr/bin/unshare")
        )
        _ = try await process.wait(seconds: 300)
        let parts = process.stdout.components(separatedBy: "----\n")
        #expect(parts.count == 2, "\(process.stdout)\n\(process.stderr)")
        return Output(
            client: parts[0].split(separator: "\n").map(String.init),
            deliveries: parts.count == 2 ? parts[1] : ""
        )
    }
}
