/// A gateway before one worker, and a client that sends one message a request. The CPU is the gateway's.
struct GatewayContender: Contender {
    enum Client: String {
        /// nghttp2's load generator, as fast as the gateway answers. No two requests that wait are equal.
        case h2load
        /// The same at an even rate.
        case paced
        /// `send_each_for_multicast` of firebase-admin for Python, 500 messages a call.
        case sdk
    }

    let name: String
    let summary: String
    private let client: Client
    private let bench: Bench
    private let sink: Sink
    /// Requests a second of `paced`.
    private let rate: Int
    private let seconds: Int

    init(_ client: Client, _ bench: Bench, sink: Sink, rate: Int = 0, seconds: Int = 0) {
        name = client.rawValue
        summary =
            switch client {
            case .h2load: "h2load, \(bench.options.lanes) connections of \(bench.options.streams) streams"
            case .paced: "h2load, \(rate) requests a second"
            case .sdk: "firebase-admin's send_each_for_multicast, 500 messages a call"
            }
        (self.client, self.bench, self.sink, self.rate, self.seconds) = (client, bench, sink, rate, seconds)
    }

    /// - Parameter sends: not used by `paced`: the time is given.
    func run(sends: Int) throws -> RunSample {
        let sends = client == .paced ? rate * seconds : sends
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
        let mark = try fleet.results.mark()
        _ = try ask(gateway, sends: max(500, sends / 20), isPaced: false)
        let warm = try gateway.cpuNs()
        let (clientNs, reading) = try fleet.meter(sink: sink) {
            try ask(gateway, sends: sends, isPaced: client == .paced)
        }
        let cpuSeconds = Double(try gateway.cpuNs() - warm) / 1e9
        let figures = client == .paced ? try times() : [:]
        var sample = reading.sample(sends: sends, figures: figures)
        (sample.cpuSeconds, sample.startUpCPUSeconds) = (cpuSeconds, Double(warm) / 1e9)
        sample.peakMemoryMegabytes = try gateway.peakMemoryMegabytes()
        sample.figures[GatewayScenario.worker.name] = 1e6 * reading.cpuSeconds / Double(sends)
        sample.figures[GatewayScenario.client.name] = Double(clientNs) / 1e3 / Double(sends)
        sample.figures[GatewayScenario.core.name] = Double(sends) / cpuSeconds
        try check(fleet, since: mark, sends: sends + max(500, sends / 20))
        try fleet.drain()
        return sample
    }

    private func times() throws -> [String: Double] {
        try LatencyScenario.figures(PacedH2LoadContender.milliseconds(bench.workspace.read("h2load-times.tsv")))
    }

    /// Every request is a recipient that was sent to.
    private func check(_ fleet: Fleet, since mark: ResultStream.Mark, sends: Int) throws {
        var sent = 0
        try fleet.results.read(since: mark) { entry in
            sent += ResultStream.occurrences(of: "\"status\":\"sent\"", in: entry.results)
        }
        guard sent == sends else { throw BenchError.failed("\(sent) results of \(sends) requests were sent") }
    }

    /// - Returns: the client's CPU, nanoseconds.
    private func ask(_ gateway: GatewayProcess, sends: Int, isPaced: Bool) throws -> Int {
        client == .sdk ? try callSDK(gateway, sends: sends) : try load(gateway, sends: sends, isPaced: isPaced)
    }

    private func load(_ gateway: GatewayProcess, sends: Int, isPaced: Bool) throws -> Int {
        let (options, workspace) = (bench.options, bench.workspace)
        let body = try workspace.write(Payload.body(token: Payload.token(0)), to: "h2load-body.json")
        let path = "\(gateway.origin)/v1/projects/\(Sink.project)/messages:send"
        let addresses = try workspace.write(
            (0..<2_000).map { "\(path)?number=\($0)\n" }.joined(),
            to: "h2load-addresses.txt"
        )
        var arguments = [
            "-n", "\(sends)", "-c", "\(options.lanes)", "-m", "\(options.streams)", "-t", "1", "-d", body, "-i",
            addresses,
            "-H", "Authorization: Bearer \(gateway.key)", "-H", "Content-Type: application/json",
        ]
        if isPaced {
            let log = try workspace.write("", to: "h2load-times.tsv")
            arguments += ["--rps", "\(max(1, rate / options.lanes))", "--log-file", log]
        }
        let child = try Child("h2load", try Tool.h2load.found(), arguments, in: workspace)
        let ended = try child.finish(seconds: options.limitSeconds)
        let said = workspace.read(child.outputFile)
        guard said.contains("\(sends) succeeded, 0 failed"), said.contains("\(sends) 2xx") else {
            throw BenchError.failed("h2load: \(workspace.tail(child.outputFile))")
        }
        return ended.cpuNs
    }

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
            tokens = [f"{number:011d}aBcDeFgHiJk:APA91b" + 15 * "x9Yz_w-3" for number in range(first, min(first + 500, int(count)))]
            message = messaging.MulticastMessage(
                tokens=tokens, notification=messaging.Notification(title="Your order is on its way", body="It arrives today"),
                data={"order": "4711", "screen": "tracking"})
            answer = messaging.send_each_for_multicast(message)
            if answer.failure_count:
                sys.exit(str([str(one.exception) for one in answer.responses if one.exception][:3]))
        """#
}
