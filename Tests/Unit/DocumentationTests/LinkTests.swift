import Foundation
import Testing

/// Checks that every link of the documentation has a target and that every page is listed.
@Suite struct LinkTests {
    @Test func everyLinkHasATarget() throws {
        let pages = try Page.all
        #expect(pages.count > 15)
        for page in pages {
            for match in page.prose.matches(of: /\]\(([^)\s]+)\)/) {
                let target = String(match.1)
                guard !target.hasPrefix("https://"), !target.hasPrefix("http://") else { continue }
                let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let path = String(parts[0])
                // A page of a catalogue names a picture alone.
                let isPicture = path.hasSuffix(".png") && !path.contains("/")
                let folder = page.file.deletingLastPathComponent().appendingPathComponent(isPicture ? "Resources" : "")
                let url = path.isEmpty ? page.file : folder.appendingPathComponent(path)
                #expect(FileManager.default.fileExists(atPath: url.path), "\(page.label): \(target)")
                if parts.count == 2, url.pathExtension == "md" {
                    let anchors = try Self.anchors(Page(url))
                    #expect(anchors.contains(String(parts[1])), "\(page.label): \(target)")
                }
            }
        }
    }

    @Test func everyReferenceWithinACatalogueNamesAPage() throws {
        let pages = try Page.all
        for page in pages {
            let catalogue = page.file.path.contains("/FanfareClient.docc/") ? Page.clientCatalogue : Page.catalogue
            let names = Set(pages.filter { $0.file.path.hasPrefix(catalogue.path + "/") }.map(\.name))
            for match in page.prose.matches(of: /<doc:([A-Za-z0-9_-]+)/) {
                #expect(names.contains(String(match.1)), "\(page.label): \(match.1)")
            }
        }
    }

    @Test func everyPageIsListedInTheRootAndInTheReadme() throws {
        let pages = try Page.inCatalogue()
        let root = try #require(pages.first { $0.name == "Fanfare" })
        let readme = try Page(Page.root.appendingPathComponent("README.md"))
        let listed = root.text.components(separatedBy: "\n").filter { $0.hasPrefix("- <doc:") }
        for page in pages where page.name != root.name {
            #expect(listed.count { $0 == "- <doc:\(page.name)>" } == 1, "Fanfare.md lists \(page.name) not once")
            let link = "(Sources/Worker/FanfareWorker/Fanfare.docc/\(page.name).md)"
            #expect(readme.text.contains(link), "README.md does not name \(page.name)")
        }
        #expect(readme.text.contains("(Sources/Clients/FanfareClient/FanfareClient.docc/FanfareClient.md)"))
    }

    /// The anchors of a page's headings, as common renderers name them.
    private static func anchors(_ page: Page) -> Set<String> {
        let headings = page.text.components(separatedBy: "\n").filter { $0.hasPrefix("#") }
        return Set(
            headings.map { heading in
                heading.drop { $0 == "#" || $0 == " " }.lowercased()
                    .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            }
        )
    }
}
