internal import FanfareModel
internal import Glibc

/// How to use a system that runs on this machine from another terminal: commands to paste.
struct SystemGuide {
    /// The configuration file.
    let file: String
    /// The socket of Redis.
    let socket: String
    let project: String
    /// The control port of the sandbox; nil without one.
    let controlPort: Int?
    /// nil if there is no dashboard.
    var dashboardPort: Int?
    /// nil if there is no gateway that can be reached by an address.
    var gateway: (origin: String, key: String?)?
    /// Whether the file does not name this Redis.
    var isRedisGiven = false
    /// How this program is called in a shell.
    var program = Self.programName

    var lines: [String] {
        let message = #"{"notification":{"title":"Hello","body":"World"}}"#
        let fanfare = "\(Self.quoted(program))"
        let redis = isRedisGiven ? " --redis \(Self.quoted(PrivateRedis.url(socket: socket)))" : ""
        let link = "-c \(Self.quoted(file))" + redis
        let token = controlPort == nil ? #""$TOKEN""# : "my-phone"
        var lines = [
            "push a job:",
            "  \(fanfare) send \(link) --project \(project) --token \(token) --title Hello --body World --wait",
            "the same without this program, from any language:",
            "  redis-cli -s \(Self.quoted(socket)) XADD 'fanfare:{\(project)}:jobs' '*' token \(token) message '\(message)'",
        ]
        if let gateway {
            let body = #"{"message":{"token":"my-phone","notification":{"title":"Hello","body":"World"}}}"#
            let add = "\(fanfare) gateway key add NAME --project \(project) -c \(Self.quoted(file))"
            let about = gateway.key == nil ? "; `\(add)` makes a KEY:" : ", with a key that is shown this once:"
            lines += [
                "the same over HTTP, as Google's SDKs do" + about,
                "  curl \(gateway.origin)/v1/projects/\(project)/messages:send -d '\(body)' \\",
                "    -H 'Authorization: Bearer \(gateway.key ?? "KEY")'",
            ]
        }
        if let controlPort {
            lines += ["what the phone received:", "  curl 'http://127.0.0.1:\(controlPort)/deliveries?token=my-phone'"]
        }
        lines += ["watch it:", "  \(fanfare) top \(link)"]
        return lines + (dashboardPort.map { ["  or open http://127.0.0.1:\($0)"] } ?? [])
    }

    /// The whole path of this program.
    static var ownPath: String {
        guard let path = realpath("/proc/self/exe", nil) else { return CommandLine.arguments.first ?? "fanfare" }
        defer { free(path) }
        return String(cString: path)
    }

    /// The name if the shell found it in PATH, else the whole path: the other terminal may be in another folder.
    private static var programName: String {
        let name = CommandLine.arguments.first ?? "fanfare"
        return name.contains("/") ? ownPath : name
    }

    /// A word as a shell reads it.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { $0.isASCIIAlphanumeric || "/._-+".utf8.contains($0) }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}
