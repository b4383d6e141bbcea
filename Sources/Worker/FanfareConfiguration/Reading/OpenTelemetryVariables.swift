internal import FanfareModel

/// OpenTelemetry's own environment variables. They fill what no setting of Fanfare says. A value that cannot be used is
/// ignored with a warning: these variables are often set for all programs of a machine, or by an operator of Kubernetes.
struct OpenTelemetryVariables {
    private enum Name: String {
        case isDisabled = "OTEL_SDK_DISABLED"
        case endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
        case headers = "OTEL_EXPORTER_OTLP_HEADERS"
        case exportProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
        case serviceName = "OTEL_SERVICE_NAME"
        case attributes = "OTEL_RESOURCE_ATTRIBUTES"
        case sampler = "OTEL_TRACES_SAMPLER"
        case samplerArgument = "OTEL_TRACES_SAMPLER_ARG"
    }

    private let environment: [String: String]
    private(set) var warnings: [String] = []

    /// - Parameter environment: without empty variables, which count as not set.
    init(_ environment: [String: String]) { self.environment = environment }

    /// Fills the settings under `telemetry` that no other source gives.
    mutating func fill(_ telemetry: inout Configuration.Telemetry, hosts: HostPolicy) {
        if readsDisabled() {
            // No setting says the same, so the file's collector is no answer to it.
            telemetry.otlp = nil
            telemetry.isDisabled = true
            telemetry.variables["telemetry.otlp"] = Name.isDisabled.rawValue
            return
        }
        fillEndpoint(&telemetry, hosts)
        // All others matter only with a collector.
        guard telemetry.otlp != nil else { return }
        fillHeaders(&telemetry)
        fillResource(&telemetry)
        fillSampler(&telemetry)
    }

    private mutating func warn(_ name: Name, _ reason: String) { warnings.append("\(name.rawValue): \(reason)") }

    private func value(_ name: Name) -> String? { environment[name.rawValue] }

    private mutating func readsDisabled() -> Bool {
        switch value(.isDisabled)?.lowercased() ?? "false" {
        case "false": return false
        case "true": return true
        default:
            warn(.isDisabled, "neither true nor false, so telemetry stays on")
            return false
        }
    }

    private mutating func fillEndpoint(_ telemetry: inout Configuration.Telemetry, _ hosts: HostPolicy) {
        guard telemetry.otlp == nil, let text = value(.endpoint) else { return }
        let given = SourcedValue(texts: [text], source: .environment(Name.endpoint.rawValue))
        if let reason = ValueRules(hosts: hosts).fault(of: given, kind: .collector) {
            return warn(.endpoint, "\(reason); no telemetry is sent")
        }
        telemetry.otlp = text.hasSuffix("/") ? String(text.dropLast()) : text
        telemetry.variables["telemetry.otlp"] = Name.endpoint.rawValue
        if let name = value(.exportProtocol), name != "http/json" {
            warn(
                .exportProtocol,
                "Fanfare speaks http/json only; \(Name.endpoint.rawValue) must be the collector's address for HTTP, "
                    + "usually port 4318"
            )
        }
    }

    private mutating func fillHeaders(_ telemetry: inout Configuration.Telemetry) {
        guard telemetry.headersFile == nil, let text = value(.headers) else { return }
        // A key for one collector is not sent to another.
        guard value(.endpoint) == nil || telemetry.variables["telemetry.otlp"] != nil else {
            let reason = "ignored, as \(Name.endpoint.rawValue) is"
            return warn(.headers, "\(reason); name the headers in telemetry.headers_file")
        }
        guard let pairs = Self.pairs(text), !pairs.isEmpty,
            let headers = SecretReader.headers(pairs.map { "\($0.key): \($0.value)" })
        else { return warn(.headers, "must be 1 to 16 headers as name=value, separated by commas, percent-encoded") }
        telemetry.headers = headers.map { SecretText($0) }
        telemetry.variables["telemetry.headers_file"] = Name.headers.rawValue
    }

    private mutating func fillResource(_ telemetry: inout Configuration.Telemetry) {
        if let text = value(.attributes) {
            if let pairs = Self.pairs(text), pairs.count <= 64, !pairs.contains(where: { Self.isControlled($0.value) })
            {
                telemetry.attributes = pairs.map { .init(key: $0.key, value: $0.value) }
            } else {
                warn(.attributes, "must be at most 64 attributes as key=value, separated by commas, percent-encoded")
            }
        }
        // Its own variable takes precedence over the attribute.
        let named = telemetry.attributes.last { $0.key == "service.name" }?.value
        telemetry.attributes.removeAll { $0.key == "service.name" }
        guard telemetry.serviceName == nil else { return }
        if let name = value(.serviceName) {
            if Self.isControlled(name) {
                warn(.serviceName, "holds a control character")
            } else {
                telemetry.serviceName = name
                telemetry.variables["telemetry.service_name"] = Name.serviceName.rawValue
            }
        }
        if telemetry.serviceName == nil, let named, !named.isEmpty {
            telemetry.serviceName = named
            telemetry.variables["telemetry.service_name"] = Name.attributes.rawValue
        }
    }

    private mutating func fillSampler(_ telemetry: inout Configuration.Telemetry) {
        guard telemetry.sampleOneIn == nil, let name = value(.sampler) else { return }
        let prefix = "parentbased_"
        let root = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
        var sampler = Configuration.Telemetry.Sampler(followsParent: root != name)
        switch root {
        case "always_on": break
        case "always_off": sampler.ratio = 0
        case "traceidratio": sampler.ratio = ratio() ?? 1
        default:
            return warn(
                .sampler,
                "must be always_on, always_off, traceidratio, or one of these behind parentbased_; every trace is sampled"
            )
        }
        telemetry.sampler = sampler
        telemetry.variables["telemetry.sample_one_in"] = Name.sampler.rawValue
    }

    /// nil for none, and for one that is not valid.
    private mutating func ratio() -> Double? {
        guard let text = value(.samplerArgument) else { return nil }
        if let ratio = Double(text), (0...1).contains(ratio) { return ratio }
        warn(.samplerArgument, "must be a number from 0 to 1; 1 is used")
        return nil
    }

    /// Reads `key=value,key=value` with percent-encoded values, as W3C Baggage writes them; nil for any other text.
    private static func pairs(_ text: String) -> [(key: String, value: String)]? {
        var pairs: [(key: String, value: String)] = []
        for member in text.split(separator: ",") {
            let sides = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
            if sides == [""] { continue }
            guard sides.count == 2, let key = decoded(sides[0]), let value = decoded(sides[1]), !key.isEmpty,
                !isControlled(key)
            else { return nil }
            pairs.append((key, value))
        }
        return pairs
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
    }

    /// Replaces `%` and two hexadecimal digits by their byte; nil if the result is not UTF-8, or a `%` stands alone.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(\.isHexadecimalDigit),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isControlled(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        isASCIIDigit || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(self & 0xDF)
    }
}
