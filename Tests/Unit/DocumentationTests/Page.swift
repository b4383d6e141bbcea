import Foundation
import TestSupport

/// A page of the documentation in the source tree.
struct Page: Sendable {
    static let root = Repository.root
    static let catalogue = root.appendingPathComponent("Sources/Documentation/Fanfare.docc")
    static let clientCatalogue = root.appendingPathComponent("Sources/Clients/FanfareClient/FanfareClient.docc")

    var file: URL
    var text: String

    var label: String { file.lastPathComponent }
    /// The name of the file without `.md`.
    var name: String { file.deletingPathExtension().lastPathComponent }

    init(_ file: URL) throws {
        self.file = file
        text = try String(contentsOf: file, encoding: .utf8)
    }

    static func inCatalogue(_ folder: URL = catalogue) throws -> [Page] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }.sorted { $0.path < $1.path }.map { try Page($0) }
    }

    /// All pages of a catalogue, including the pages in its folders.
    static var all: [Page] {
        get throws {
            let runbook = try inCatalogue(catalogue.appendingPathComponent("Runbook"))
            let others = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Benchmarks/README.md"]
            return try inCatalogue() + runbook + inCatalogue(clientCatalogue)
                + others.map { try Page(root.appendingPathComponent($0)) }
        }
    }

    /// The text of each fenced block of a language, without the fences.
    func blocks(_ language: String) -> [String] {
        text.matches(of: /```([a-z]+)\n((?:.*\n)*?)```/).filter { $0.1 == language }.map { String($0.2) }
    }

    /// The text without code, which contains no links.
    var prose: String {
        text.replacing(/```(?:.*\n)*?```/, with: "").replacing(/`[^`\n]*`/, with: "")
    }
}
