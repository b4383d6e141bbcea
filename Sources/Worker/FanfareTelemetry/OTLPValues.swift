internal import FanfareJSON
internal import Tracing

/// The process that spans and metrics come from.
public struct TelemetryResource: Sendable {
    public var service = "fanfare"
    /// The worker's name: unique in the fleet.
    public var instance: String
    public var version: String
    /// The prefix of the Redis keys, which tells fleets apart.
    public var prefix: String
    /// Further attributes. An attribute with the name of an earlier one is left out.
    public var attributes: [(key: String, value: String)] = []

    public init(instance: String, version: String, prefix: String) {
        (self.instance, self.version, self.prefix) = (instance, version, prefix)
    }

    var json: JSONValue {
        var all = [
            ("service.name", service), ("service.instance.id", instance), ("service.version", version),
            ("fanfare.prefix", prefix),
        ]
        // An attribute may stand once.
        for (key, value) in attributes where !all.contains(where: { $0.0 == key }) { all.append((key, value)) }
        return .object(["attributes": .array(all.map { OTLP.attribute($0, $1) })])
    }

    var scope: JSONValue { .object(["name": "fanfare", "version": .string(version)]) }
}

/// The values that OTLP's JSON encoding consists of: 64-bit integers are strings, ids are hexadecimal.
enum OTLP {
    /// A longer text is cut.
    static let maximumCharacters = 1_024

    static func attribute(_ key: String, _ value: String) -> JSONValue {
        .object(["key": .string(key), "value": .object(["stringValue": .string(cut(value))])])
    }

    /// The first ``SpanRecord/maximumAttributes`` attributes, and the number of all others.
    static func attributes(_ attributes: SpanAttributes) -> (values: [JSONValue], lost: Int) {
        var values: [JSONValue] = []
        var lost = 0
        attributes.forEach { key, attribute in
            guard values.count < SpanRecord.maximumAttributes else { return lost += 1 }
            values.append(.object(["key": .string(key), "value": value(attribute)]))
        }
        return (values, lost)
    }

    static func integer(_ value: some BinaryInteger) -> JSONValue { .string(String(value)) }

    /// Not a number and the infinities are strings in protobuf's JSON.
    static func double(_ value: Double) -> JSONValue {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        // A finite value prints as a JSON number.
        return (try? JSONParser.parse(Array("\(value)".utf8))) ?? 0
    }

    private static func value(_ attribute: SpanAttribute) -> JSONValue {
        switch attribute {
        case .int32(let value): return integers([Int64(value)])[0]
        case .int64(let value): return integers([value])[0]
        case .double(let value): return doubles([value])[0]
        case .bool(let value): return .object(["boolValue": .bool(value)])
        case .string(let value): return texts([value])[0]
        case .int32Array(let values): return list(integers(values.map(Int64.init)))
        case .int64Array(let values): return list(integers(values))
        case .doubleArray(let values): return list(doubles(values))
        case .boolArray(let values): return list(values.map { .object(["boolValue": .bool($0)]) })
        case .stringArray(let values): return list(texts(values))
        case .stringConvertible(let value): return texts(["\(value)"])[0]
        case .stringConvertibleArray(let values): return list(texts(values.map { "\($0)" }))
        default: return texts([""])[0]
        }
    }

    private static func integers(_ values: [Int64]) -> [JSONValue] {
        values.map { .object(["intValue": integer($0)]) }
    }

    private static func doubles(_ values: [Double]) -> [JSONValue] {
        values.map { .object(["doubleValue": double($0)]) }
    }

    private static func texts(_ values: [String]) -> [JSONValue] {
        values.map { .object(["stringValue": .string(cut($0))]) }
    }

    private static func list(_ values: [JSONValue]) -> JSONValue {
        .object(["arrayValue": .object(["values": .array(Array(values.prefix(SpanRecord.maximumAttributes)))])])
    }

    static func cut(_ text: String) -> String {
        text.utf8.count <= maximumCharacters ? text : String(text.prefix(maximumCharacters))
    }
}
