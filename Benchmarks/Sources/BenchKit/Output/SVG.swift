internal import Foundation

/// As much of SVG as a chart takes.
enum SVG {
    static let ink = "#222222"
    static let faint = "#666666"
    static let grid = "#dddddd"

    static func document(width: Int, height: Int, _ drawing: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" viewBox="0 0 \(width) \(height)"
          font-family="DejaVu Sans, Helvetica, Arial, sans-serif">
        <rect width="\(width)" height="\(height)" fill="#ffffff"/>
        \(drawing)</svg>

        """
    }

    static func text(
        _ text: String,
        x: Double,
        y: Double,
        anchor: String = "start",
        size: Int = 12,
        weight: String = "normal",
        color: String = ink
    ) -> String {
        """
        <text x="\(number(x))" y="\(number(y))" text-anchor="\(anchor)" font-size="\(size)" font-weight="\(weight)" \
        fill="\(color)">\(escaped(text))</text>

        """
    }

    static func line(
        _ x1: Double,
        _ y1: Double,
        _ x2: Double,
        _ y2: Double,
        _ color: String,
        width: Int
    ) -> String {
        """
        <line x1="\(number(x1))" y1="\(number(y1))" x2="\(number(x2))" y2="\(number(y2))" stroke="\(color)" \
        stroke-width="\(width)"/>

        """
    }

    static func path(_ points: [(Double, Double)], _ color: String) -> String {
        let coordinates = points.map { "\(number($0.0)),\(number($0.1))" }.joined(separator: " ")
        return "<polyline points=\"\(coordinates)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"/>\n"
    }

    static func dot(_ x: Double, _ y: Double, _ color: String) -> String {
        "<circle cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"4\" fill=\"\(color)\"/>\n"
    }

    static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;")
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }
}
