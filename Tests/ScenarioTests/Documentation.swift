import Foundation

/// The pages of the documentation, and the sources of these tests.
enum Documentation {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func page(_ name: String) throws -> String {
        let url = root.appendingPathComponent("Sources/FanfareWorker/Fanfare.docc/\(name).md")
        return try String(contentsOf: url, encoding: .utf8)
    }

    /// Name and text of each file of the scenarios.
    static func scenarioSources() throws -> [(name: String, text: String)] {
        let folder = root.appendingPathComponent("Tests/ScenarioTests")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
            .sorted()
            .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
    }
}
