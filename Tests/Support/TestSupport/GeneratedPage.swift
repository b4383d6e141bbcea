internal import Foundation

/// A page of the documentation that ends with a generated text.
public enum GeneratedPage {
    /// Whether a page ends with a text. With `FANFARE_WRITE_PAGES` in the environment, writes the text there first: from
    /// the text's first line to the end of the page.
    ///
    /// - Parameter page: the page's name, without `.md`.
    public static func ends(_ page: String, with text: String) throws -> Bool {
        let file = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/\(page).md")
        let old = try String(contentsOf: file, encoding: .utf8)
        let title = "\n" + text.prefix { $0 != "\n" } + "\n"
        guard let start = old.range(of: title) else { throw TestFailure("\(page).md has no line \(title)") }
        let new = old[..<start.lowerBound] + "\n" + text
        if ProcessInfo.processInfo.environment["FANFARE_WRITE_PAGES"] != nil {
            try new.write(to: file, atomically: true, encoding: .utf8)
            return true
        }
        return new == old
    }
}
