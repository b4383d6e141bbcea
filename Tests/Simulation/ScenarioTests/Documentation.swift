import Foundation
import TestSupport

/// The pages of the documentation, and the sources of these tests.
enum Documentation {
    static let root = Repository.root

    static func page(_ name: String) throws -> String {
        let url = root.appendingPathComponent("Sources/Documentation/Fanfare.docc/\(name).md")
        return try String(contentsOf: url, encoding: .utf8)
    }

    /// The text of each fenced block of a language on a page, without the fences.
    static func blocks(_ language: String, on page: String) throws -> [String] {
        try self.page(page).matches(of: /```([a-z]+)\n((?:.*\n)*?)```/).filter { $0.1 == language }.map { String($0.2) }
    }

    /// The rows of a page's tables, the text between the bars.
    static func tableRows(_ text: some StringProtocol) -> [[String]] {
        text.split(separator: "\n").filter { $0.hasPrefix("|") && !$0.hasPrefix("|-") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// Name and text of each file of the scenarios.
    static func scenarioSources() throws -> [(name: String, text: String)] {
        let folder = root.appendingPathComponent("Tests/Simulation/ScenarioTests")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
            .sorted()
            .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
    }

    /// The text of each file of a test target.
    static func sources(ofTests target: String) throws -> [String] {
        let files = FileManager.default.enumerator(
            at: root.appendingPathComponent("Tests"),
            includingPropertiesForKeys: nil
        )
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" && $0.pathComponents.contains(target) }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }
}
