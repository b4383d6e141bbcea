internal import FanfareModel
internal import Glibc

/// How to use the demo from another terminal while it runs: its configuration file, and commands to paste.
struct DemoGuide {
    /// The demo's temporary folder.
    let folder: String
    let project: String
    /// Ports of the sandbox.
    let dataPort: Int
    let controlPort: Int
    /// nil if the dashboard could not start.
    var dashboardPort: Int?
    /// How this program is called in a shell.
    var program = Self.programName

    var file: String { folder + "/fanfare.yaml" }
    private var socket: String { folder + "/redis.sock" }

    /// The configuration of the demo's worker, for other commands too.
    var configuration: String {
        """
        redis: { url: "unix://\(socket)" }
        projects:
          \(project):
            credentials: "sandbox/service-account-\(project).json"
            endpoint: "https://localhost:\(dataPort)"
        tls: { ca_file: "sandbox/ca.pem" }

        """
    }

    var lines: [String] {
        let message = #"{"notification":{"title":"Hello","body":"World"}}"#
        let fanfare = "\(Self.quoted(program))"
        let link = "-c \(Self.quoted(file))"
        return [
            "Running until Ctrl-C, which stops and removes everything. In another terminal:", "",
            "push a job:",
            "  \(fanfare) send \(link) --project \(project) --token my-phone --title Hello --body World --wait",
            "the same without this program, from any language:",
            "  redis-cli -s \(Self.quoted(socket)) XADD 'fanfare:{\(project)}:jobs' '*' token my-phone message '\(message)'",
            "what the phone received:",
            "  curl 'http://127.0.0.1:\(controlPort)/deliveries?token=my-phone'",
            "watch it:",
            "  \(fanfare) top \(link)",
        ] + (dashboardPort.map { ["  or open http://127.0.0.1:\($0)"] } ?? [])
    }

    /// The name if the shell found it in PATH, else the whole path: the other terminal may be in another folder.
    private static var programName: String {
        let name = CommandLine.arguments.first ?? "fanfare"
        guard name.contains("/"), let path = realpath("/proc/self/exe", nil) else { return name }
        defer { free(path) }
        return String(cString: path)
    }

    /// A word as a shell reads it.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { $0.isASCIIAlphanumeric || "/._-+".utf8.contains($0) }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}
