internal import Foundation

/// The product's own simulator, where what FCM does with a send matters.
final class Sandbox {
    let target: Target
    private let child: Child
    private let control: ControlPort

    /// - Parameter options: further words of its command line.
    init(executable: String, options: [String], in workspace: Workspace) throws {
        struct Ports: Decodable {
            let port: UInt16
            let control_port: UInt16
        }
        let state = workspace.file("sandbox")
        let words = [
            "sandbox", "--state", state, "--project", Sink.project, "--port", "0", "--control-port", "0", "--json",
        ]
        let child = try Child("sandbox", executable, words + options, in: workspace)
        do {
            let ports = try Patience.wait(for: "the sandbox", seconds: 30) { () -> Ports? in
                try child.throwIfEnded()
                return try? JSONDecoder().decode(Ports.self, from: Data(workspace.read(child.outputFile).utf8))
            }
            control = ControlPort(port: ports.control_port)
            target = Target(
                origin: "https://localhost:\(ports.port)",
                authority: "\(state)/ca.pem",
                credentials: "\(state)/service-account-\(Sink.project).json",
                serverKey: "\(state)/server-key-\(Sink.project)"
            )
        } catch {
            child.stop(seconds: 0)
            throw error
        }
        self.child = child
    }

    func post(_ path: String, _ body: String) throws { _ = try control.ask("POST", path, body) }

    /// Sends that were refused because the project's quota was used up.
    func quotaRefusals() throws -> Int {
        struct Stats: Decodable { let quota_rejections: Int }
        return try JSONDecoder().decode(Stats.self, from: try control.ask("GET", "/stats")).quota_rejections
    }

    /// When each fan-out reached its last recipient, in Unix milliseconds; those under way are left out.
    func fanoutEnds() throws -> [Double] {
        struct Fanout: Decodable { let finished_ms: Double? }
        let lines = try control.ask("GET", "/fanouts").split(separator: UInt8(ascii: "\n"))
        return try lines.compactMap { try JSONDecoder().decode(Fanout.self, from: $0).finished_ms }
    }

    func stop() { child.stop() }
}
