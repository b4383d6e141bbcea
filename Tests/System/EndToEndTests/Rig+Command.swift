import Foundation
import RedisTransport
import StreamWire
import Testing

/// What operators see and do: the command, and the sandbox's account of its faults.
extension Rig {
    /// Runs `fanfare` to its end, which has to be a good one, and answers what it printed.
    @discardableResult
    func fanfare(_ configuration: String, _ arguments: [String], in project: String? = nil) async throws -> String {
        let named = arguments[0] == "project" ? [] : ["--project", project ?? self.project]
        let process = try ChildProcess(arguments + ["-c", configuration] + named)
        let status = try await process.wait(seconds: 30)
        #expect(status == 0, "\(arguments): \(process.stderr)")
        return process.stdout
    }

    /// What `fanfare project ls` says of a project: its state in a word, and the reason.
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

    /// What holds up a project's workers, as they last found: nothing (nil), a stream that is not read, or `memory`.
    func pressure(_ project: String? = nil) async throws -> String? {
        try await client.send(RedisCommand("HGET", "fanfare:{\(project ?? self.project)}:ctl", "pressure")).string
    }

    func length(_ stream: String, in project: String? = nil) async throws -> Int {
        Int(try await client.send(RedisCommand("XLEN", "fanfare:{\(project ?? self.project)}:\(stream)")).integer ?? 0)
    }

    /// How many requests each of the sandbox's faults has hit, by the fault's id.
    func faultHits() async throws -> [String: Int] {
        struct Fault: Decodable {
            var id: String
            var hits: Int
        }
        let faults = try JSONDecoder().decode([Fault].self, from: try await control("GET", "/faults"))
        return Dictionary(uniqueKeysWithValues: faults.map { ($0.id, $0.hits) })
    }

    /// Adds a fault and answers its id.
    func addFault(_ body: String) async throws -> String {
        struct Added: Decodable { var id: String }
        return try JSONDecoder().decode(Added.self, from: try await control("POST", "/faults", body)).id
    }

    /// Waits until the sandbox has seen no further send for as long as `quietMs`, and answers how many there were.
    func standstill(quietMs: Int = 400) async throws -> Int {
        var last = -1
        try await Wait.until("sends to stand still\n\(logs)", everyMs: quietMs) {
            let now = try await stats().sends
            defer { last = now }
            return now == last
        }
        return last
    }
}
