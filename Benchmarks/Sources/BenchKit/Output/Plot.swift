internal import Foundation

/// Lines over a logarithmic axis, with the spread of each point.
struct Plot {
    struct Point {
        let x: Double
        let low: Double
        let y: Double
        let high: Double
    }

    struct Line {
        let label: String
        let color: String
        let points: [Point]
    }

    let title: String
    let axis: String
    let lines: [Line]
    /// Where the panel begins, in the drawing's units. It is 460 wide and 380 high.
    let left: Double

    private static let margin = (left: 64.0, right: 20.0, top: 56.0, bottom: 60.0)
    private var area: (x: Double, y: Double, width: Double, height: Double) {
        let margin = Self.margin
        return (left + margin.left, margin.top, 460 - margin.left - margin.right, 380 - margin.top - margin.bottom)
    }

    func svg() -> String {
        let points = lines.flatMap(\.points)
        guard let least = points.map(\.x).min(), let most = points.map(\.x).max(), least > 0 else { return "" }
        let top = Self.niceCeiling(points.map(\.high).max() ?? 1)
        let spread = max(log(most / least), 0.001)
        func x(_ value: Double) -> Double { area.x + area.width * log(value / least) / spread }
        func y(_ value: Double) -> Double { area.y + area.height * (1 - value / top) }

        var drawing = SVG.text(title, x: left + Self.margin.left, y: 28, size: 15, weight: "bold")
        for step in 0...4 {
            let value = top * Double(step) / 4
            drawing += SVG.line(area.x, y(value), area.x + area.width, y(value), SVG.grid, width: 1)
            drawing += SVG.text(Self.label(value), x: area.x - 8, y: y(value) + 4, anchor: "end")
        }
        for value in Set(points.map(\.x)).sorted() {
            drawing += SVG.text(Self.label(value), x: x(value), y: area.y + area.height + 20, anchor: "middle")
        }
        let middle = area.x + area.width / 2
        drawing += SVG.text(axis, x: middle, y: area.y + area.height + 40, anchor: "middle", color: SVG.faint)
        for (index, line) in lines.enumerated() {
            drawing += SVG.path(line.points.map { (x($0.x), y($0.y)) }, line.color)
            for point in line.points {
                drawing += SVG.line(x(point.x), y(point.low), x(point.x), y(point.high), line.color, width: 2)
                drawing += SVG.dot(x(point.x), y(point.y), line.color)
            }
            let key = area.x + Double(index) * 130
            drawing += SVG.line(key, 44, key + 18, 44, line.color, width: 3)
            drawing += SVG.text(line.label, x: key + 24, y: 48)
        }
        return drawing
    }

    /// The next of 1, 2, 4, 5, 8 and 10 times a power of ten: its quarters are short numbers.
    static func niceCeiling(_ value: Double) -> Double {
        guard value > 0 else { return 1 }
        let power = pow(10, floor(log10(value)))
        return power * ([1, 2, 4, 5, 8, 10].first { $0 * power >= value * 0.999_999 } ?? 10)
    }

    static func label(_ value: Double) -> String {
        if value >= 10_000 { return "\(trimmed(value / 1_000)) k" }
        return trimmed(value)
    }

    private static func trimmed(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String(format: "%.1f", value)
    }
}
