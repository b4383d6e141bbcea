internal import FanfareConfiguration
internal import FanfareJSON

/// Where telemetry goes, and the variables of OpenTelemetry that say so.
struct TelemetryLine {
    private let settings: Configuration.Telemetry

    /// Nil when nothing sends or forbids telemetry.
    init?(_ settings: Configuration.Telemetry) {
        guard settings.otlp != nil || settings.isDisabled else { return nil }
        self.settings = settings
    }

    private var sources: [(path: String, variable: String)] {
        settings.variables.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var text: String {
        let sources = sources.map { "\($0.path) from \($0.variable)" }.joined(separator: ", ")
        return "telemetry: \(settings.otlp ?? "off")" + (sources.isEmpty ? "" : " (\(sources))")
    }

    var json: JSONValue {
        var object: JSONObject = [:]
        object["otlp"] = settings.otlp.map { JSONValue.string($0) } ?? JSONValue.null
        var variables: JSONObject = [:]
        for (path, variable) in sources { variables[path] = .string(variable) }
        object["variables"] = .object(variables)
        return .object(object)
    }
}
