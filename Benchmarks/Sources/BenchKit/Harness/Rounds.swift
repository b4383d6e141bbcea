internal import Foundation

enum Rounds {
    /// Each contender once a round, so that a change of the machine's mood reaches all of them.
    /// - Parameter show: what the line about a run tells.
    static func run(_ contenders: [any Contender], rounds: Int, sends: Int, show: [Measure] = [.cpu, .rate]) throws
        -> [String: [RunSample]]
    {
        var runs: [String: [RunSample]] = [:]
        for round in 1...rounds {
            for contender in contenders {
                let sample = try contender.run(sends: sends)
                runs[contender.name, default: []].append(sample)
                let figures = show.compactMap { $0.text(sample) }.joined(separator: ", ")
                Console.note("round \(round) of \(rounds), \(contender.name): \(figures)")
            }
        }
        return runs
    }
}

/// Progress goes to standard error: standard output is the table's. A reader that has gone away must not end the
/// harness before it has cleaned up, so nothing here fails.
enum Console {
    static func note(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8)) }
    static func say(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8)) }
}
