import Foundation
import RedisTransport
import StreamWire
import TestSupport

/// The jobs of a scenario, drawn from a seed: fan-outs and single batches, inline and by audience, in several projects.
/// No token occurs twice, so every further accepted send to a token is a duplicate.
struct ChaosLoad {
    struct Job {
        /// The round in which it is pushed, from 1.
        var round: Int
        var project: String
        var id: String
        var tokens: [String]
        var fields: [String: String]
        /// The tokens are in a Redis list, not in the entry.
        var isAudience: Bool
    }

    let jobs: [Job]
    let isAtMostOnce: Bool

    /// - Parameters:
    ///   - part: recipients per round.
    ///   - lostAnswers: additional tokens that are delivered although their first answer is lost.
    init(
        seed: UInt64,
        projects: [String],
        rounds: Int,
        part: Int,
        delivery: String = "at_least_once",
        lostAnswers: Int = 0
    ) {
        var random = SeededGenerator(seed: seed)
        var jobs: [Job] = []
        func add(_ size: Int, round: Int, isAudience: Bool, token: (String) -> String) {
            let project = projects[jobs.count % projects.count]
            let id = "job-\(jobs.count)"
            let tokens = (0..<size).map { token("\(seed)-\(project)-\(id)-\($0)") }
            var fields = [
                "id": id, "message": #"{"data":{"job":"\#(id)"}}"#, "results": "all", "delivery": delivery,
                "priority": "\(3 + random.next() % 5)",
            ]
            if isAudience {
                fields["audience"] = "audience:{\(project)}:\(id)"
            } else if size == 1 {
                fields["token"] = tokens[0]
            } else {
                fields["tokens"] = Rig.tokens(tokens)
            }
            jobs.append(
                Job(round: round, project: project, id: id, tokens: tokens, fields: fields, isAudience: isAudience)
            )
        }
        if lostAnswers > 0 { add(lostAnswers, round: 1, isAudience: false) { "sbx-lost-1-" + $0 } }
        for round in 1...rounds {
            var left = part
            while left > 0 {
                let size = min(left, Self.size(&random))
                let isAudience = size > 1 && random.next() % 4 == 0
                add(size, round: round, isAudience: isAudience) { Self.token($0, &random) }
                left -= size
            }
        }
        self.jobs = jobs
        isAtMostOnce = delivery == "at_most_once"
    }

    private static func size(_ random: inout SeededGenerator) -> Int {
        switch random.next() % 10 {
        case 0..<4: return 1_001 + Int(random.next() % 1_200)
        case 4..<8: return 50 + Int(random.next() % 500)
        default: return 1
        }
    }

    private static func token(_ name: String, _ random: inout SeededGenerator) -> String {
        switch random.next() % 400 {
        case 0: return "sbx-quota-1-\(name)"
        case 1: return "sbx-devicerate-1-\(name)"
        case 2..<10: return "sbx-unregistered-\(name)"
        case 10..<14: return "sbx-slow-150-\(name)"
        case 14..<30: return "sbx-apple-\(name)"
        case 30..<40: return "sbx-web-\(name)"
        default: return "ok-\(name)"
        }
    }

    /// The expected status and error of a token's result, unless its outcome is unknown.
    static func expected(_ token: String) -> (status: String, error: String?) {
        token.hasPrefix("sbx-unregistered-") ? ("failed", "UNREGISTERED") : ("sent", nil)
    }

    func push(_ jobs: [Job], through rig: Rig) async throws {
        for job in jobs {
            if job.isAudience {
                for start in stride(from: 0, to: job.tokens.count, by: 500) {
                    var command = RedisCommand("RPUSH", "audience:{\(job.project)}:\(job.id)")
                    for token in job.tokens[start..<min(start + 500, job.tokens.count)] { command.append(token) }
                    _ = try await rig.client.send(command)
                }
            }
            try await rig.push(job.fields, in: job.project)
        }
    }
}
