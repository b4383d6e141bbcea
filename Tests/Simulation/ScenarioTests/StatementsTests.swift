import Testing

/// The page Statements and the scenarios cite each other. ``Scene`` states the rule.
@Suite struct StatementsTests {
    struct Row: Equatable {
        var number: String
        var statement: String
        /// `Suite/function` of a scenario, or empty where the page says why there is none.
        var tests: [String]
        /// `Target/Suite/function` of tests outside the scenarios, which need not cite the statement.
        var others: [String]
        var reason: String
    }

    struct Scenario: Equatable {
        var test: String
        var numbers: [String]
    }

    /// `| A1 | text | ``Suite/function`` |`, or a reason in the third column.
    static func rows() throws -> [Row] {
        try Documentation.page("Statements").split(separator: "\n").compactMap { line in
            // A bar within a text is escaped by a backslash.
            let cells = line.replacing(#"\|"#, with: "/").split(separator: "|", omittingEmptySubsequences: false).map {
                trimmed($0)
            }
            guard cells.count == 5, let first = cells[1].first, "AXGLR".contains(first),
                Int(cells[1].dropFirst()) != nil
            else { return nil }
            let named = cells[3].split(separator: "`").map(String.init).filter { !$0.contains(" ") }
            let tests = named.filter { $0.count { $0 == "/" } == 1 }
            let others = named.filter { $0.count { $0 == "/" } == 2 }
            let reason = tests.isEmpty && others.isEmpty ? cells[3] : ""
            return Row(number: cells[1], statement: cells[2], tests: tests, others: others, reason: reason)
        }
    }

    /// Every scenario, with the statements that its name begins with.
    static func scenarios() throws -> [Scenario] {
        var found: [Scenario] = []
        for (name, text) in try Documentation.scenarioSources() where name != "StatementsTests.swift" {
            let before = found.count
            var suite = ""
            var numbers: [String]?
            for line in text.split(separator: "\n") {
                for opening in ["extension ", "@Suite struct "] where line.hasPrefix(opening) {
                    suite = String(line.dropFirst(opening.count).prefix { $0.isLetter })
                }
                let text = trimmed(line)
                if text.hasPrefix("@Test(\"") {
                    numbers = text.dropFirst(7).prefix { $0 != ":" }.split(separator: " ").map(String.init)
                } else if let cited = numbers, text.hasPrefix("func ") {
                    found.append(
                        Scenario(
                            test: suite + "/" + text.dropFirst(5).prefix { $0.isLetter || $0.isNumber },
                            numbers: cited
                        )
                    )
                    numbers = nil
                }
            }
            // A test in another form would be missed.
            #expect(found.count - before == text.ranges(of: "@Test").count, "\(name)")
        }
        return found
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// Whether a file of that target has the suite and, in it or in an extension of it, the test.
    private static func exists(_ test: String) throws -> Bool {
        let parts = test.split(separator: "/").map(String.init)
        return try Documentation.sources(ofTests: parts[0]).contains { text in
            ["struct \(parts[1])", "class \(parts[1])", "extension \(parts[1])"].contains { text.contains($0 + " {") }
                && text.contains("func \(parts[2])(")
        }
    }

    @Test func `each document's statements are numbered without a gap, once each`() throws {
        let rows = try Self.rows()
        for letter in "AXGLR" {
            let numbers = rows.filter { $0.number.first == letter }.compactMap { Int($0.number.dropFirst()) }
            #expect(numbers.count > 10)
            #expect(numbers == Array(1...max(1, numbers.count)), "\(letter)")
        }
        for row in rows { #expect(row.statement.count > 5, "\(row.number)") }
    }

    @Test func `a statement has tests that exist and cite it, or a reason why it has none`() throws {
        let scenarios = try Self.scenarios()
        let numbers = Dictionary(scenarios.map { ($0.test, Set($0.numbers)) }, uniquingKeysWith: { $0.union($1) })
        #expect(numbers.count == scenarios.count)
        for row in try Self.rows() {
            #expect(row.reason.isEmpty || row.reason.count > 20, "\(row.number): neither a test nor a reason")
            for other in row.others {
                #expect(try Self.exists(other), "\(row.number) names \(other), which is not there")
            }
            for test in row.tests {
                let cited = try #require(numbers[test], "\(row.number) names \(test), which is not there")
                #expect(cited.contains(row.number), "\(test) does not cite \(row.number)")
            }
        }
    }

    @Test func `a test of a scenario cites statements, and each of them names it`() throws {
        let rows = Dictionary(try Self.rows().map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        let scenarios = try Self.scenarios()
        #expect(scenarios.count > 50)
        for scenario in scenarios {
            #expect(!scenario.numbers.isEmpty, "\(scenario.test)")
            for number in scenario.numbers {
                let row = try #require(rows[number], "\(scenario.test) cites \(number), which is not there")
                #expect(row.tests.contains(scenario.test), "\(number) does not name \(scenario.test)")
            }
        }
    }
}
