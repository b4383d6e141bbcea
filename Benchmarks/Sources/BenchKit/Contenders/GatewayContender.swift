/// A gateway before one worker, and a client that sends one message a request. The CPU is the gateway's.
struct GatewayContender: Contender {
    enum Client: Equatable {
        /// nghttp2's load generator, as fast as the gateway answers. No two requests that wait are equal, but all have one
        /// token, so that each becomes a job of its own.
        case h2load
        /// `send_each_for_multicast` of firebase-admin for Python, 500 messages a call.
        case sdk
        /// The bytes of `sdk` at an even rate; see ``WrkClient``.
        case bytes(rate: Int, seconds: Int)
    }

    let name: String
    let summary: String
    private let client: Client
    private let bench: Bench
    private let sink: Sink

    init(_ name: String, _ client: Client, _ bench: Bench, sink: Sink) {
        self.name = name
        summary =
            switch client {
            case .h2load: "h2load, \(bench.options.lanes) connections of \(bench.options.streams) streams, one token"
            case .sdk: "firebase-admin's send_each_for_multicast, 500 messages a call"
            case .bytes(let rate, _): "wrk with the bytes of firebase-admin, \(rate) requests a second"
            }
        (self.client, self.bench, self.sink) = (client, bench, sink)
    }

    /// What a client did.
    private struct Load {
        var sends: Int
        var cpuNs: Int
        /// nil where the whole life of the client counts.
        var seconds: Double?
        var figures: [String: Double] = [:]
    }

    /// - Parameter sends: not used by `bytes`: the time is given.
    func run(sends: Int) throws -> RunSample {
        let fleet = try bench.fleet(sink.target)
        defer { fleet.stop() }
        try fleet.warmUp(bench.options.warmUp, limitSeconds: bench.options.limitSeconds)
        let gateway = try GatewayProcess(
            executable: try bench.fanfare(),
            redis: fleet.redis,
            target: sink.target,
            certificates: bench.certificates,
            in: bench.workspace
        )
        defer { gateway.stop(in: bench.workspace) }
        _ = try warmUp(gateway, sends: max(500, sends / 20))
        let mark = try fleet.results.mark()
        let warm = try gateway.cpuNs()
        let times = try fleet.redis.info("commandstats").microseconds
        let (load, reading) = try fleet.meter(sink: sink) { try ask(gateway, sends: sends) }
        let timesAfter = try fleet.redis.info("commandstats").microseconds
        let cpuSeconds = Double(try gateway.cpuNs() - warm) / 1e9
        var sample = reading.sample(sends: load.sends, figures: load.figures)
        sample.wallSeconds = load.seconds ?? reading.wallSeconds
        (sample.cpuSeconds, sample.startUpCPUSeconds) = (cpuSeconds, Double(warm) / 1e9)
        sample.peakMemoryMegabytes = try gateway.peakMemoryMegabytes()
        let jobs = try jobs(fleet, since: mark, sends: load.sends)
        sample.figures.merge(CommandTimes.figures(timesAfter, since: times, sends: load.sends)) { $1 }
        sample.figures.merge(
            [
                GatewayScenario.worker.name: 1e6 * reading.cpuSeconds / Double(load.sends),
                GatewayScenario.client.name: Double(load.cpuNs) / 1e3 / Double(load.sends),
                GatewayScenario.core.name: Double(load.sends) / cpuSeconds,
                GatewayScenario.joined.name: Double(load.sends) / Double(jobs),
            ]
        ) { $1 }
        try fleet.drain()
        return sample
    }

    /// Every request is a recipient that was sent to.
    /// - Returns: how many jobs they became.
    private func jobs(_ fleet: Fleet, since mark: ResultStream.Mark, sends: Int) throws -> Int {
        var sent = 0
        var jobs: Set<String> = []
        try fleet.results.read(since: mark) { entry in
            sent += ResultStream.occurrences(of: "\"status\":\"sent\"", in: entry.results)
            jobs.insert(entry.job)
        }
        guard sent == sends else { throw BenchError.failed("\(sent) results of \(sends) requests were sent") }
        return jobs.count
    }

    private func warmUp(_ gateway: GatewayProcess, sends: Int) throws {
        switch client {
        case .h2load: _ = try load(gateway, sends: sends)
        case .sdk: _ = try callSDK(gateway, sends: sends)
        case .bytes(let rate, _): _ = try send(gateway, rate: rate, seconds: 1, first: 900_000_000)
        }
    }

    private func ask(_ gateway: GatewayProcess, sends: Int) throws -> Load {
        switch client {
        case .h2load: Load(sends: sends, cpuNs: try load(gateway, sends: sends))
        case .sdk: Load(sends: sends, cpuNs: try callSDK(gateway, sends: sends))
        case .bytes(let rate, let seconds): try send(gateway, rate: rate, seconds: seconds, first: 0)
        }
    }

    private func send(_ gateway: GatewayProcess, rate: Int, seconds: Int, first: Int) throws -> Load {
        let wrk = WrkClient(origin: gateway.origin, key: gateway.key, workspace: bench.workspace)
        let (outcome, cpuNs) = try wrk.run(rate: rate, seconds: seconds, first: first)
        let measures = [LatencyScenario.p50, LatencyScenario.p99, LatencyScenario.p999].map(\.name)
        let figures = Dictionary(uniqueKeysWithValues: zip(measures, outcome.milliseconds))
        return Load(sends: outcome.sends, cpuNs: cpuNs, seconds: outcome.seconds, figures: figures)
    }

    /// - Returns: the client's CPU, nanoseconds.
    private func load(_ gateway: GatewayProcess, sends: Int) throws -> Int {
        let (options, workspace) = (bench.options, bench.workspace)
        let body = try workspace.write(Payload.body(token: Payload.token(0)), to: "h2load-body.json")
        let path = "\(gateway.origin)/v1/projects/\(Sink.project)/messages:send"
        let addresses = try workspace.write(
            (0..<2_000).map { "\(path)?number=\($0)\n" }.joined(),
            to: "h2load-addresses.txt"
        )
        let arguments = [
            "-n", "\(sends)", "-c", "\(options.lanes)", "-m", "\(options.streams)", "-t", "1", "-d", body, "-i",
            addresses,
            "-H", "Authorization: Bearer \(gateway.key)", "-H", "Content-Type: application/json",
        ]
        let child = try Child("h2load", try Tool.h2load.found(), arguments, in: workspace)
        let ended = try child.finish(seconds: options.limitSeconds)
        let said = workspace.read(child.outputFile)
        guard said.contains("\(sends) succeeded, 0 failed"), said.contains("\(sends) 2xx") else {
            throw BenchError.failed("h2load: \(workspace.tail(child.outputFile))")
        }
        return ended.cpuNs
    }

    /// - Returns: the client's CPU, nanoseconds.
    private func callSDK(_ gateway: GatewayProcess, sends: Int) throws -> Int {
        let script = try bench.workspace.write(Self.script, to: "send-each.py")
        let child = try Child(
            "send-each",
            try GatewayScenario.python(),
            [script, gateway.origin, Sink.project, gateway.key, "\(sends)"],
            environment: ["REQUESTS_CA_BUNDLE": bench.certificates.authority],
            in: bench.workspace
        )
        return try child.finish(seconds: bench.options.limitSeconds).cpuNs
    }

    private static let script = #"""
        import sys
        import firebase_admin
        import google.oauth2.credentials
        from firebase_admin import credentials, messaging
        origin, project, key, count = sys.argv[1:]
        messaging._MessagingService.FCM_URL = origin + "/v1/projects/{0}/messages:send"
        class Key(credentials.Base):
            def get_credential(self):
                return google.oauth2.credentials.Credentials(token=key)
        firebase_admin.initialize_app(Key(), {"projectId": project})
        for first in range(0, int(count), 500):
            tokens = [f"{number:011d}aBcDeFgHiJk:APA91b" + 15 * "x9Yz_w-3" + "Qd" for number in range(first, min(first + 500, int(count)))]
            message = messaging.MulticastMessage(
                tokens=tokens, android=messaging.AndroidConfig(priority="high"), notification=messaging.Notification(
                    title="Your order is on its way", body="It arrives today between 14:00 and 16:00."),
                data={"order": "4711", "screen": "tracking"})
            answer = messaging.send_each_for_multicast(message)
            if answer.failure_count:
                sys.exit(str([str(one.exception) for one in answer.responses if one.exception][:3]))
        """#
}
