internal import FanfareJSON
internal import FanfareMetrics

/// Encodes the registry as the body of `POST /v1/metrics`. Names and labels are the same as in `/metrics`.
enum OTLPMetrics {
    /// The time span that cumulative points cover, in Unix nanoseconds.
    struct Period: Equatable, Sendable {
        var startNs: UInt64
        var nowNs: UInt64
    }

    /// - Parameter maximumBytes: metrics that would make the body longer are left out, except for the first. One metric has
    ///   at most ``MetricRegistry/maximumSeries`` points.
    /// - Returns: the body, and how many of the families it holds: the first ones.
    static func body(
        _ families: [MetricRegistry.Family],
        _ period: Period,
        resource: TelemetryResource,
        maximumBytes: Int
    ) -> (body: OTLPBody, families: Int) {
        var bytes = Array(#"{"resourceMetrics":[{"resource":"#.utf8)
        bytes.appendJSON(resource.json)
        bytes += #","scopeMetrics":[{"scope":"#.utf8
        bytes.appendJSON(resource.scope)
        bytes += #","metrics":["#.utf8
        var (points, count) = (0, 0)
        for family in families {
            let encoded = json(family, period).jsonBytes
            if count > 0, bytes.count + encoded.count > maximumBytes { break }
            if count > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += encoded
            points += family.series.count
            count += 1
        }
        bytes += "]}]}]}".utf8
        return (OTLPBody(bytes: bytes, count: points), count)
    }

    private static func json(_ family: MetricRegistry.Family, _ period: Period) -> JSONValue {
        var object: JSONObject = ["name": .string(family.name)]
        if !family.help.isEmpty { object["description"] = .string(family.help) }
        if let unit = unit(of: family) { object["unit"] = .string(unit) }
        let series = family.series.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
        let points = JSONValue.array(series.map { point($0, period, isCumulative: family.kind != .gauge) })
        switch family.kind {
        case .counter:
            object["sum"] = .object([
                "aggregationTemporality": cumulative, "isMonotonic": true, "dataPoints": points,
            ])
        case .gauge: object["gauge"] = .object(["dataPoints": points])
        case .histogram:
            object["histogram"] = .object(["aggregationTemporality": cumulative, "dataPoints": points])
        }
        return .object(object)
    }

    /// AGGREGATION_TEMPORALITY_CUMULATIVE.
    private static let cumulative: JSONValue = 2

    private static func unit(of family: MetricRegistry.Family) -> String? {
        let name = family.name.hasSuffix("_total") ? family.name.dropLast("_total".count) : family.name[...]
        if name.hasSuffix("_seconds") { return "s" }
        return name.hasSuffix("_bytes") ? "By" : nil
    }

    private static func point(
        _ series: MetricRegistry.Series,
        _ period: Period,
        isCumulative: Bool
    ) -> JSONValue {
        var object: JSONObject = [:]
        if !series.pairs.isEmpty {
            object["attributes"] = .array(series.pairs.map { OTLP.attribute($0.name, $0.value) })
        }
        if isCumulative { object["startTimeUnixNano"] = OTLP.integer(period.startNs) }
        object["timeUnixNano"] = OTLP.integer(period.nowNs)
        switch series.cell {
        case let cell as CounterCell: object["asInt"] = OTLP.integer(cell.value)
        case let cell as GaugeCell: object["asDouble"] = OTLP.double(cell.value)
        case let cell as HistogramCell: add(cell, to: &object)
        default: break
        }
        return .object(object)
    }

    private static func add(_ cell: HistogramCell, to object: inout JSONObject) {
        let reading = cell.reading
        // The registry's reading is cumulative over the buckets; OTLP counts each bucket alone.
        let counts = zip(reading.cumulative, [0] + reading.cumulative).map { $0 - $1 }
        object["count"] = OTLP.integer(reading.count)
        object["sum"] = OTLP.double(reading.sum)
        object["bucketCounts"] = .array(counts.map { OTLP.integer($0) })
        object["explicitBounds"] = .array(cell.bounds.map(OTLP.double))
    }
}
