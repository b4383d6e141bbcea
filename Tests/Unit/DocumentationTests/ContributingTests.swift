import Foundation
import TestSupport
import Testing

/// CONTRIBUTING.md sends newcomers to files, types and tests; each of them exists.
@Suite struct ContributingTests {
    private static let page = try? Page(Page.root.appendingPathComponent("CONTRIBUTING.md"))

    private static func code() throws -> [String] {
        let text = try #require(page).text.replacing(/```(?:.*\n)*?```/, with: "")
        return text.matches(of: /`([^`\n]+)`/).map { String($0.1) }
    }

    @Test func everyPathExists() throws {
        let folders = ["Sources/", "Tests/", "Benchmarks/", "ops/"]
        let paths = try Self.code().map { String($0.prefix { $0 != " " }) }.filter { code in
            folders.contains { code.hasPrefix($0) }
        }
        #expect(paths.count > 20)
        for path in paths {
            #expect(FileManager.default.fileExists(atPath: Page.root.appendingPathComponent(path).path), "\(path)")
        }
    }

    /// A word in code that begins with a capital, such as a type or a suite, is declared or is a folder's or file's name.
    @Test func everyNameIsInTheSources() throws {
        let names = try Set(Self.code().filter { $0.wholeMatch(of: /[A-Z][A-Za-z]+/) != nil })
        #expect(names.count > 20)
        var missing = names
        for folder in ["Sources", "Tests"] {
            let files = FileManager.default.enumerator(
                at: Page.root.appendingPathComponent(folder),
                includingPropertiesForKeys: nil
            )
            for case let file as URL in files ?? .init() {
                missing.remove(file.deletingPathExtension().lastPathComponent)
                guard file.pathExtension == "swift", !missing.isEmpty else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                missing = missing.filter { name in
                    ["struct ", "enum ", "class ", "protocol "].allSatisfy { kind in
                        !text.contains(kind + name + " ") && !text.contains(kind + name + ":")
                    }
                }
            }
        }
        #expect(missing.isEmpty)
    }
}
