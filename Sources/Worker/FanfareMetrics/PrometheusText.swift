/// Renders the registry in the Prometheus text exposition format 0.0.4.
public enum PrometheusText {
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    public static func render(_ registry: MetricRegistry) -> String {
        var text = ""
        for family in registry.read() { append(family, to: &text) }
        return text
    }

    private static func append(_ family: MetricRegistry.Family, to text: inout String) {
        if !family.help.isEmpty { text += "# HELP \(family.name) \(escaped(family.help))\n" }
        text += "# TYPE \(family.name) \(family.kind.name)\n"
        let series = family.series.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
        for one in series {
            switch one.cell {
            case let cell as CounterCell: append(family.name, one.pairs, "\(cell.value)", to: &text)
            case let cell as GaugeCell: append(family.name, one.pairs, number(cell.value), to: &text)
            case let cell as HistogramCell: append(family.name, one.pairs, cell, to: &text)
            default: break
            }
        }
    }

    private static func append(
        _ name: String,
        _ pairs: [MetricRegistry.Pair],
        _ cell: HistogramCell,
        to text: inout String
    ) {
        let reading = cell.reading
        let bounds = cell.bounds.map(number) + ["+Inf"]
        for (bound, count) in zip(bounds, reading.cumulative) {
            append(name + "_bucket", pairs + [("le", bound)], "\(count)", to: &text)
        }
        append(name + "_sum", pairs, number(reading.sum), to: &text)
        append(name + "_count", pairs, "\(reading.count)", to: &text)
    }

    private static func append(
        _ name: String,
        _ pairs: [MetricRegistry.Pair],
        _ value: String,
        to text: inout String
    ) {
        text += name
        if !pairs.isEmpty {
            text +=
                "{" + pairs.map { "\($0.name)=\"\(escaped($0.value, isQuoted: true))\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    /// Formats a number as Go does: integers without a fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return "\(Int64(value))" }
        return "\(value)"
    }

    /// Compares scalars, because Swift treats CR LF as one character.
    static func escaped(_ text: String, isQuoted: Bool = false) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where isQuoted: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
