internal import FoundationEssentials

/// The simulator of a system that runs on this machine, and the configuration that leads to it.
struct LocalSandbox {
    let folder: String
    let project: String
    let port: Int
    let controlPort: Int
    /// Settings of the project besides its credentials, as lines of YAML.
    var settings: [String] = []
    /// The section of the gateway, as a line of YAML; empty without one.
    var gateway = ""

    var file: String { folder + "/fanfare.yaml" }

    /// The arguments of the command.
    var words: [String] {
        [
            "sandbox", "--state", folder + "/sandbox", "--project", project, "--port", "\(port)",
            "--control-port", "\(controlPort)", "--xmpp-port", "0",
        ]
    }

    /// Written at each start, because it names the addresses of this one.
    func writeConfiguration(redis: String) throws {
        let text = """
            # Written by `fanfare` at each start. To change something, copy this file and pass it with --config.
            redis: { url: "\(redis)" }
            projects:
              \(project):
                credentials: "sandbox/service-account-\(project).json"
                endpoint: "https://localhost:\(port)"
            \(settings.map { "    \($0)\n" }.joined())\
            tls: { ca_file: "sandbox/ca.pem" }
            \(gateway)

            """
        do {
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        } catch {
            throw Outcome.failed.because("\(file): cannot be written")
        }
    }
}
