import Foundation
import RedisTransport
import StreamWire
import Testing

/// The operator's side: the `fanfare` command, and the sandbox's faults.
extension Rig {
    /// Runs `fanfare`, expects exit status 0 and returns its standard output.
    @discardableResult
    func fanfare(_ configuration: String, _ arguments: [String], in project: String? = nil) async throws -> String {
        let named = arguments[0] == "project" ? [] : ["--project", project ?? self.project]
        let process = try ChildProcess(arguments + ["-c", configuration] + named)
        let status = try await process.wait(seconds: 30)
        #expect(status == 0, "\(arguments): \(process.stderr)")
        return process.stdout
    }

    /// A project's state in `fanfare project ls`, followed by `: ` and the reason if there is one.
    func state(_ configuration: String, of project: String? = nil) async throws -> String {
        struct Line: Decodable {
            var project: String
            var state: String
            var reason: String?
        }
        let lines = try await fanfare(configuration, ["project", "ls", "--json"]).split(separator: "\n")
        let all = try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        let line = try #require(all.first { $0.project == project ?? self.project })
        return line.state + (line.reason.map { ": " + $0 } ?? "")
    }

    /// The cause of a project's backpressure: a stream that is not read, or `memory`; nil without backpressure.
    func pressure(_ project: String? = nil) async throws -> String? {
        try await client.send(RedisCommand("HGET", "fanfare:{\(project ?? self.project)}:ctl", "pressure")).string
    }

    func length(_ stream: String, in project: String? = nil) async throws -> Int {
        Int(try await client.send(RedisCommand("XLEN", "fanfare:{\(project ?? self.project)}:\(stream)")).integer ?? 0)
    }

    /// The number of requests that each of the sandbox's faults affected, by the fault's id.
    func faultHits() async throws -> [String: Int] {
        struct Fault: Decodable {
            var id: String
            var hits: Int
        }
        let faults = try JSONDecoder().decode([Fault].self, from: try await control("GET", "/faults"))
        return Dictionary(uniqueKeysWithValues: faults.map { ($0.id, $0.hits) })
    }

    /// Adds a fault and returns its id.
    func addFault(_ body: String) async throws -> String {
        struct Added: Decodable { var id: String }
        return try JSONDecoder().decode(Added.self, from: try await control("POST", "/faults", body)).id
    }

    /// Waits until the sandbox receives no send for `quietMs` and returns the number of sends so far.
    func standstill(quietMs: Int = 400) async throws -> Int {
        var last = -1
        try await Wait.until("sends to stop\n\(logs)", everyMs: quietMs) {
            let now = try await stats().sends
            defer { last = now }
            return now == last
        }
        return last
    }
}
