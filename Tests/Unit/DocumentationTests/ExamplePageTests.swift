import Foundation
import Testing

/// Checks that the pages show the examples that the tests run.
@Suite struct ExamplePageTests {
    @Test func producersPageShowsTheTestedExamples() throws {
        let page = try Page(Page.catalogue.appendingPathComponent("Producers.md"))
        let folder = Page.catalogue.appendingPathComponent("Examples")
        let languages = ["sh": "bash", "py": "python", "cjs": "javascript", "go": "go"]
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count == languages.count)
        for file in files {
            let language = try #require(languages[file.pathExtension], "\(file.lastPathComponent)")
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(page.blocks(language) == [text], "Producers.md does not show \(file.lastPathComponent) as it is")
        }
    }

    @Test func clientPageShowsTheTestedExample() throws {
        let page = try Page(Page.clientCatalogue.appendingPathComponent("FanfareClient.md"))
        let file = Page.root.appendingPathComponent("Tests/System/EndToEndTests/ClientExample.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(page.blocks("swift").contains(text), "FanfareClient.md does not show ClientExample.swift as it is")
    }
}
