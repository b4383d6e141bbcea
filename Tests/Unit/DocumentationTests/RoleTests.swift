import Foundation
import TestSupport
import Testing

/// Checks the table of roles on the page Architecture, which names the files of each decision and driver.
@Suite struct RoleTests {
    private static let folders = ["Sources/Core/FanfareCore", "Sources/Worker/FanfareWorker"]

    private static func rows() throws -> [[String]] {
        let page = Repository.root
            .appendingPathComponent("Sources/Documentation/Fanfare.docc/Architecture.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        guard let head = lines.firstIndex(where: { $0.hasSuffix("| decides in | acts in |") }) else { return [] }
        return lines[(head + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func everyRoleOfThePageHasItsFiles() throws {
        let rows = try Self.rows()
        #expect(rows.count >= 10)
        for row in rows {
            for (folder, cell) in zip(Self.folders, row.suffix(2)) {
                let name = cell.trimmingCharacters(in: ["`"])
                let file = Repository.root.appendingPathComponent("\(folder)/\(name).swift")
                #expect(FileManager.default.fileExists(atPath: file.path), "\(row[0]): \(folder)/\(name).swift")
            }
        }
    }

    /// Each decision has a test file with its name.
    @Test func everyDecisionHasATestFile() throws {
        let tests = Repository.root.appendingPathComponent("Tests/Unit/FanfareCoreTests")
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?.allObjects ?? []
        let names = Set(files.compactMap { ($0 as? URL)?.lastPathComponent })
        for row in try Self.rows() {
            let role = row[2].trimmingCharacters(in: ["`"]).split(separator: "/").last ?? ""
            #expect(names.contains { $0.hasPrefix(String(role)) && $0.hasSuffix("Tests.swift") }, "\(role)")
        }
    }
}
