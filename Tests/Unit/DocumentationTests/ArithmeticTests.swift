import Foundation
import Testing

/// Checks the calculations on the pages. Each line of an `arithmetic` block is evaluated from left to right.
@Suite struct ArithmeticTests {
    @Test func everyCalculationIsRight() throws {
        let blocks: [String] = try Page.all.flatMap { $0.blocks("arithmetic") }
        let lines: [Substring] = blocks.flatMap { $0.split(separator: "\n") }
        #expect(lines.count > 10)
        for line in lines {
            let sides = line.split(separator: " = ")
            try #require(sides.count == 2, "\(line)")
            let worked = try #require(Self.value(sides[0]), "\(line)")
            let said = try #require(Self.number(sides[1].prefix { $0 != " " }), "\(line)")
            // The stated value is rounded to the digits that it shows.
            let decimals = sides[1].prefix { $0 != " " }.split(separator: ".").dropFirst().first?.count ?? 0
            let step = pow(10, Double(-decimals))
            #expect(abs(worked - said) <= step / 2 * 1.001, "\(line): \(worked)")
        }
    }

    private static func number(_ text: Substring) -> Double? { Double(text.replacing(",", with: "")) }

    /// Evaluates numbers with operators, ignoring units. Parentheses are allowed at the start only, where they change
    /// nothing.
    private static func value(_ text: Substring) -> Double? {
        var value: Double?
        var sign: Substring?
        for word in text.replacing(/^\(([^()]*)\)/, with: { $0.1 }).split(separator: " ") {
            if ["×", "÷", "+"].contains(word) {
                sign = word
            } else if let number = number(word) {
                switch (value, sign) {
                case (nil, nil): value = number
                case (let left?, "×"): value = left * number
                case (let left?, "÷"): value = left / number
                case (let left?, "+"): value = left + number
                default: return nil
                }
                sign = nil
            }
        }
        return sign == nil ? value : nil
    }
}
