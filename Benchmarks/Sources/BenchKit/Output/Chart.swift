/// A picture of the scenario `inflight`: throughput, and CPU per send, against requests in flight.
enum Chart {
    static func tools(_ file: String) -> [Tool] { file.hasSuffix(".png") ? [.rsvgConvert] : [] }

    /// - Parameter file: ends in `.svg`, or in `.png`, which another program makes of the first.
    static func write(_ report: Report, machine: Machine, to file: String, in workspace: Workspace) throws {
        let text = svg(report, caption: "\(machine.cores) × \(machine.model), \(machine.curlName)")
        if file.hasSuffix(".svg") {
            try Workspace.write(text, at: file)
        } else {
            let source = try workspace.write(text, to: "chart.svg")
            let words = ["--format", "png", "--zoom", "2", "--output", Workspace.absolute(file), source]
            try Child("rsvg-convert", try Tool.rsvgConvert.found(), words, in: workspace).finish(seconds: 60)
        }
    }

    static func svg(_ report: Report, caption: String) -> String {
        let left = panel(report, .rate, title: "sends a second", x: 0)
        let right = panel(report, .cpu, title: "CPU per send, µs", x: 460)
        let drawing = left.svg() + right.svg()
        return SVG.document(
            width: 920,
            height: 400,
            drawing + SVG.text(caption, x: 460, y: 390, anchor: "middle", size: 11, color: SVG.faint)
        )
    }

    private static func panel(_ report: Report, _ measure: Measure, title: String, x: Double) -> Plot {
        let sides = [
            ("worker", InFlightScenario.worker, "#0b6e99"),
            ("worker, nghttp2", InFlightScenario.workerOnNGHTTP2, "#3a7d34"),
            ("libcurl alone", InFlightScenario.floor, "#c2571a"),
        ]
        let lines = sides.map { label, side, color in
            Plot.Line(
                label: label,
                color: color,
                points: InFlightScenario.levels.compactMap { level in
                    report.sides.first { $0.name == side(level) }?.measures[measure.name].map {
                        Plot.Point(x: Double(level), low: $0.min, y: $0.median, high: $0.max)
                    }
                }
            )
        }
        return Plot(title: title, axis: "requests in flight", lines: lines.filter { !$0.points.isEmpty }, left: x)
    }
}
