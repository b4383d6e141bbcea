import Foundation
import Testing

/// Holds the pages to their lengths, and pages and comments to plain words. A table row and a line of code count for nothing in the whole
/// catalogue, and a table row counts for nothing on its page: tables are looked up, not read.
@Suite struct PageLengthTests {
    private static let maximumWordsOfAPage = 1_500
    /// Of a page that readers look things up on.
    private static let maximumWordsOfAReference = 2_500
    private static let maximumWordsOfTheCatalogue = 25_000
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
        #"\bthose\s+(that|which|who|whose|of|in|with)\b"#: "the noun itself",
        #"\ba\s+person\b"#: "an operator, a producer …",
        #"\b(stands?|waits?|moves?|comes?|continues?|each)\s+behind\b"#: "after",
        #"\bbehind\s+(?!the\s+(proxy|load))(the|its?|them|this|each|others?)\b"#: "after",
    ]

    /// The comments of a source in one text, and the number of each of its lines.
    private static func comments(of source: String, after mark: String) -> (text: String, lines: [Int]) {
        var (texts, lines) = ([Substring](), [Int]())
        for (number, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let start = line.range(of: mark) else { continue }
            texts.append(line[start.upperBound...])
            lines.append(number + 1)
        }
        return (texts.joined(separator: "\n"), lines)
    }

    @Test func commentsUseTheUsualWords() throws {
        let sources = Page.root.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files {
            guard let mark = ["swift": "// ", "lua": "-- "][file.pathExtension] else { continue }
            let (text, lines) = Self.comments(of: try String(contentsOf: file, encoding: .utf8), after: mark)
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
