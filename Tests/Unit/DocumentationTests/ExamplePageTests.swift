import Foundation
import Testing

/// Checks that the pages show the examples that the tests run.
@Suite struct ExamplePageTests {
    /// The page links each program, and shows lines of it.
    @Test func producersPageShowsLinesOfTheTestedExamples() throws {
        let page = try Page(Page.catalogue.appendingPathComponent("Producers.md"))
        let folder = Page.catalogue.appendingPathComponent("Examples")
        // The page pushes with redis-cli on one line, the script with variables.
        let languages = ["sh": nil, "py": "python", "cjs": "javascript", "go": "go", "php": "php", "rb": "ruby"]
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count == languages.count)
        for file in files {
            let name = file.lastPathComponent
            #expect(page.text.contains("[\(name)](Examples/\(name))"), "\(name)")
            guard let language = try #require(languages[file.pathExtension], "\(name)") else { continue }
            let blocks = page.blocks(language)
            #expect(blocks.count == 1, "\(name)")
            #expect(try lines(String(contentsOf: file, encoding: .utf8)).contains(lines(blocks.joined())), "\(name)")
        }
    }

    /// The lines of a text without indentation.
    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test func clientPageShowsTheTestedExample() throws {
        let page = try Page(Page.clientCatalogue.appendingPathComponent("FanfareClient.md"))
        let file = Page.root.appendingPathComponent("Tests/System/EndToEndTests/ClientExample.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(page.blocks("swift").contains(text), "FanfareClient.md does not show ClientExample.swift as it is")
    }

    @Test func clientPageShowsTheExamplesThatItsTestsRun() throws {
        let page = try Page(Page.clientCatalogue.appendingPathComponent("FanfareClient.md"))
        let folder = Page.root.appendingPathComponent("Tests/Unit/FanfareClientTests/Examples")
        for name in ["RediStackExample", "TypedMessageExample", "ValkeyExample"] {
            let text = try String(contentsOf: folder.appendingPathComponent("\(name).swift"), encoding: .utf8)
            #expect(page.blocks("swift").contains(text), "FanfareClient.md does not show \(name).swift as it is")
        }
    }
}
