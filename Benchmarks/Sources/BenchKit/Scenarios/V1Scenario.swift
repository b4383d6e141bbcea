internal import Foundation

/// One fan-out over HTTP v1, in batches of 1,000 recipients, one stream for each recipient.
enum V1Scenario: Scenario {
    static let name = "v1"
    static let summary = "a fan-out over HTTP v1: CPU per send of the worker beside libcurl alone"

    static func run(_ options: Options, in workspace: Workspace) throws -> Report {
        let executable = options.floorOnly ? nil : try Executable.fanfare(options)
        let startedAt = Date()
        let machine = Machine(tools: [.nginx, .redisServer, .h2load])
        if machine.isBusy { Console.note("others are at work here (load \(machine.loadBefore)): expect a wide spread") }
        let certificates = try Certificates(in: workspace)
        let sink = try Sink(certificates: certificates, streams: options.streams, in: workspace)
        defer { sink.stop() }

        var contenders: [any Contender] = [
            FloorContender(options: options, sink: sink, certificates: certificates, in: workspace)
        ]
        if let executable {
            contenders.append(
                WorkerContender(
                    executable: executable,
                    options: options,
                    sink: sink,
                    certificates: certificates,
                    workspace: workspace
                )
            )
        }
        if let limit = H2LoadContender(options: options, sink: sink, in: workspace) {
            contenders.append(limit)
        } else if options.h2load {
            Console.note("h2load is missing and left out: apt-get install \(Tool.h2load.package)")
        }

        let runs = try Rounds.run(contenders, rounds: options.rounds, sends: options.sends)
        return Report(
            scenario: name,
            parameters: [
                "sends": options.sends, "rounds": options.rounds, "warm_up": options.warmUp, "lanes": options.lanes,
                "streams": options.streams, "cork": options.cork ? 1 : 0,
            ],
            startedAt: startedAt,
            machine: machine,
            contenders: contenders,
            runs: runs,
            ratios: [
                (.cpu, "worker", "floor"), (.cpu, "worker", "h2load"), (.cpu, "floor", "h2load"),
                (.rate, "worker", "floor"),
            ]
        )
    }
}
