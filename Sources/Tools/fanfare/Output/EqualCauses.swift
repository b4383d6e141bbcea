/// Joins sentences about many projects that have one cause.
enum EqualCauses {
    /// Fewer sentences of one cause are printed one by one.
    static let fewest = 4

    /// Sentences such as `projects.shop.credentials (line 5): is a directory`. Sentences that differ only in project
    /// and line become one, in the place of the first.
    static func joined(_ sentences: [String]) -> [String] {
        joined(sentences, by: cause) { "\($1) projects; the first: \($0)" }
    }

    /// Elements of one cause become one, in the place of the first.
    /// - Parameters:
    ///   - cause: equal for the elements that are joined; nil for an element that stays alone.
    ///   - merge: makes one element of the first and their number.
    static func joined<Element, Cause: Hashable>(
        _ elements: [Element],
        by cause: (Element) -> Cause?,
        _ merge: (Element, Int) -> Element
    ) -> [Element] {
        var counts: [Cause: Int] = [:]
        for element in elements { if let cause = cause(element) { counts[cause, default: 0] += 1 } }
        var done: Set<Cause> = []
        return elements.compactMap { element in
            guard let cause = cause(element), let count = counts[cause], count >= fewest else { return element }
            return done.insert(cause).inserted ? merge(element, count) : nil
        }
    }

    /// The sentence without its project and line; nil if it is not about a project.
    private static func cause(_ sentence: String) -> String? {
        let parts = sentence.split(separator: ".", maxSplits: 2)
        guard parts.count == 3, parts[0] == "projects" else { return nil }
        return withoutLine(String(parts[2].replacing(parts[1], with: "*")))
    }

    /// The sentence without the line of a file in parentheses.
    static func withoutLine(_ sentence: String) -> String {
        guard let start = sentence.firstRange(of: " (line "),
            let end = sentence[start.upperBound...].firstIndex(of: ")")
        else { return sentence }
        return String(sentence[..<start.lowerBound] + sentence[sentence.index(after: end)...])
    }
}
