import Foundation

/// An HTTP/2 server that plays rules and counts what it receives; the head of peer.py lists the rules.
final class ScriptedPeer {
    struct Entry: Decodable {
        let connection: Int
        let path: String
        let body: String
        let complete: Bool
        let action: String
        let headers: [[String]]

        private enum CodingKeys: CodingKey { case connection, path, body, complete, action, headers }
    }
    struct Ledger: Decodable {
        let requests: [Entry]
        let connections: Int

        /// How often each body arrived in full, by body.
        var received: [String: Int] {
            Dictionary(requests.filter(\.complete).map { ($0.body, 1) }, uniquingKeysWith: +)
        }
        /// Of those the peer processed: answered, or took and left without an answer.
        var processed: [String: Int] {
            let entries = requests.filter { $0.complete && $0.action != "refuse" && $0.action != "ignored" }
            return Dictionary(entries.map { ($0.body, 1) }, uniquingKeysWith: +)
        }
    }

    private let process: PeerProcess
    private let isPlain: Bool

    /// - Parameters:
    ///   - streams: the stream limit that it announces.
    ///   - window: bytes of a body that it takes; nil for no limit.
    init(rules: String = "[]", streams: Int = 100, window: Int? = nil) throws {
        isPlain = true
        process = try PeerProcess.plain()
        command(#"{"do":"restart","streams":\#(streams),"window":\#(window.map(String.init) ?? "null")}"#)
        script(rules)
    }

    /// - Parameters:
    ///   - certificate: nil for the one that the tests trust.
    ///   - arguments: options of peer.py.
    init(certificate: Certificates.Pair? = nil, arguments: [String]) throws {
        isPlain = false
        process = try PeerProcess(arguments, certificate: try certificate ?? Certificates.shared.get().server)
    }

    deinit { if isPlain { PeerProcess.reuse(process) } }

    var port: Int { process.port }
    var url: String { "https://localhost:\(port)/v1/projects/p/messages:send" }

    @discardableResult
    func command(_ json: String) -> String { process.command(json) }

    /// - Parameter rules: a JSON array.
    func script(_ rules: String) {
        let line = rules.replacingOccurrences(of: "\n", with: " ")
        command(#"{"do":"rules","rules":\#(line)}"#)
    }

    func ledger() throws -> Ledger {
        try JSONDecoder().decode(Ledger.self, from: Data(command(#"{"do":"ledger"}"#).utf8))
    }
}
