/// How workers are configured.
struct WorkerSettings {
    var project = Sink.project
    /// How many projects have these settings; see ``projectNames``.
    var projects = 1
    /// `v1` or `legacy`.
    var transport = "v1"
    var engine = HTTPEngine.curl
    /// Out of the way unless said: at its default, it and not the worker would be measured.
    var quotaPerMinute = 1_000_000_000
    /// For each process; the worker's own default when nil.
    var maximumInFlight: Int?
    var maximumLanes: Int?
    var activeFanouts: Int?
    /// Recipients a second.
    var fanoutRate: Int?

    /// No larger than what is in flight; the worker's own default where that allows it.
    private var window: Int? {
        guard let maximumInFlight, maximumInFlight < Self.defaultWindow else { return nil }
        return maximumInFlight
    }

    private static let defaultWindow = 128

    /// ``project``, and after it numbered ones.
    var projectNames: [String] { [project] + (1..<max(2, projects)).prefix(projects - 1).map { "\(project)-\($0)" } }

    /// The configuration file's text.
    func text(redisURL: String, target: Target) -> String {
        let worker = Self.block(
            "worker",
            [("max_in_flight", maximumInFlight), ("max_lanes", maximumLanes), ("window", window)],
            indent: ""
        )
        let secret =
            transport == "v1"
            ? "credentials: \(target.credentials)" : "server_key_file: \(target.serverKey)"
        let blocks = projectNames.map { name in
            let limits = Self.block(
                name,
                [
                    ("quota_per_minute", quotaPerMinute), ("active_fanouts", activeFanouts),
                    ("fanout_rate", fanoutRate),
                ],
                indent: "  "
            )
            return limits + "    transport: \(transport)\n    \(secret)\n    endpoint: \(target.origin)\n"
        }
        // curl is the default, and workers of `--before` may not know the setting.
        let engine = engine == .curl ? "" : "http_engine: \(engine.rawValue)\n"
        return """
            redis: { url: "\(redisURL)" }
            \(engine)\(worker)projects:
            \(blocks.joined())tls: { ca_file: \(target.authority) }

            """
    }

    /// Nothing when no value is set.
    private static func block(_ key: String, _ values: [(String, Int?)], indent: String) -> String {
        let lines = values.compactMap { name, value in value.map { "\(indent)  \(name): \($0)\n" } }
        return lines.isEmpty ? "" : "\(indent)\(key):\n" + lines.joined()
    }
}
