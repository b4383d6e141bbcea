import Foundation
import Testing

/// Holds the pages to their lengths, and pages and comments to plain words. A table row and a line of code count for nothing in the whole
/// catalogue, and a table row counts for nothing on its page: tables are looked up, not read.
@Suite struct PageLengthTests {
    private static let maximumWordsOfAPage = 1_500
    /// Of a page that readers look things up on.
    private static let maximumWordsOfAReference = 2_500
    /// Grows with the rooms: 25,000 before the gateway, whose pages and alerts brought the rest.
    private static let maximumWordsOfTheCatalogue = 26_700
    private static let references: Set<String> = ["Producers", "ProtocolFacts", "Jobs", "Statements", "CHANGELOG"]

    /// The lines of a page outside tables, and whether each is within a block of code.
    private static func lines(_ page: Page) -> [(text: Substring, isCode: Bool)] {
        var isCode = false
        return page.text.split(separator: "\n").compactMap { line in
            let text = line.drop { $0 == " " }
            if text.hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return text.hasPrefix("|") && !isCode ? nil : (line, isCode)
        }
    }

    private static func words(_ text: Substring) -> Int { text.split(separator: " ").count }

    @Test func pagesFitTheirLength() throws {
        var inCatalogue = 0
        for page in try Page.all {
            let lines = Self.lines(page)
            if page.file.path.hasPrefix(Page.catalogue.path) {
                inCatalogue += lines.reduce(0) { $0 + ($1.isCode ? 0 : Self.words($1.text)) }
            }
            let words = lines.reduce(0) { $0 + Self.words($1.text) }
            let most = Self.references.contains(page.name) ? Self.maximumWordsOfAReference : Self.maximumWordsOfAPage
            #expect(words <= most, "\(page.label): \(words) words")
        }
        #expect(inCatalogue <= Self.maximumWordsOfTheCatalogue, "\(inCatalogue) words in the catalogue")
    }

    /// Each of these made readers look for the subject of a sentence, or has a usual word.
    @Test func pagesNameTheirSubjects() throws {
        let usual = [
            "whoever": "name the subject", "nobody": "no worker, no operator …", "somebody": "name the subject",
            "under way": "in flight", "on the wire": "in flight", "goes out": "is sent",
            "a person acts": "an operator acts",
        ]
        for page in try Page.all {
            let prose = Self.lines(page).filter { !$0.isCode }.map { String($0.text) }.joined(separator: " ")
                .lowercased()
            for (word, better) in usual.sorted(by: { $0.key < $1.key }) {
                let isHidden = prose.contains(word)
                #expect(!isHidden, "\(page.label): \"\(word)\"; write: \(better)")
            }
        }
    }

    /// Regular expressions of phrases that have a usual word. "Behind" stays for a proxy and the like, so only an order
    /// is refused; "settle" has proper uses and is left to readers.
    private static let unusual = [
        #"\b(go|goes|going|went)\s+on\b"#: "continues",
        #"\banew\b"#: "again",
        #"\bnow\s+and\s+then\b"#: "sometimes, at intervals",
        #"\bthose\s+(that|which|who|whose|of|in|with)\b"#: "the noun itself",
        #"\ba\s+person\b"#: "an operator, a producer …",
        #"\b(stands?|waits?|moves?|comes?|continues?|each)\s+behind\b"#: "after",
        #"\bbehind\s+(?!the\s+(proxy|load))(the|its?|them|this|their|each|others?)\b"#: "after",
        #"\b(actor|class|enum|protocol|struct|typealias)\s+\w*(Refusal|Problem|Obstacle|Trouble|Outage)\b"#:
            "…Error, …Failure, …Fault or …Condition",
    ]

    /// Files that people read or see, by their extensions, and what begins a comment in them; nil where comments are
    /// read with the rest.
    private static let commentMarks: [String: String?] = [
        "swift": "// ", "lua": "-- ", "js": nil, "html": nil, "json": nil, "yaml": nil,
    ]

    /// The comments of a source and the rest of it, each as one text with the numbers of its lines.
    private static func texts(of source: String, mark: String?) -> [(text: String, lines: [Int])] {
        var (comments, rest): ([Substring], [Substring]) = ([], [])
        var lines: [Int] = []
        for (number, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let start = mark.flatMap { line.range(of: $0) }
            rest.append(line[..<(start?.lowerBound ?? line.endIndex)])
            guard let start else { continue }
            comments.append(line[start.upperBound...])
            lines.append(number + 1)
        }
        return [(comments.joined(separator: "\n"), lines), (rest.joined(separator: "\n"), Array(1...rest.count))]
    }

    /// Comments, literals, names of types, the dashboard and what Grafana and alerts show.
    @Test(arguments: ["Sources", "ops/grafana", "ops/prometheus"])
    func sourcesUseTheUsualWords(folder: String) throws {
        let root = Page.root.appendingPathComponent(folder)
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        for case let file as URL in files {
            guard let mark = Self.commentMarks[file.pathExtension] else { continue }
            for (text, lines) in Self.texts(of: try String(contentsOf: file, encoding: .utf8), mark: mark) {
                for (pattern, usual) in Self.unusual {
                    var rest = text[...]
                    while let match = rest.range(of: pattern, options: [.regularExpression, .caseInsensitive]) {
                        let line = lines[text[..<match.lowerBound].utf8.count { $0 == UInt8(ascii: "\n") }]
                        Issue.record("\(file.path):\(line): \"\(rest[match])\"; write: \(usual)")
                        rest = rest[match.upperBound...]
                    }
                }
            }
        }
    }
}
