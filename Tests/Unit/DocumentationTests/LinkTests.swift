import Foundation
import Testing

/// Opens every link of every Markdown file as a code host does: relative to the file, with anchors of headings.
@Suite struct LinkTests {
    private static func files() throws -> [Page] {
        let keys: [URLResourceKey] = [.isDirectoryKey]
        let files = try #require(FileManager.default.enumerator(at: Page.root, includingPropertiesForKeys: keys))
        var pages: [Page] = []
        for case let file as URL in files {
            // What a build keeps is not the project's.
            if file.lastPathComponent.hasPrefix(".build") { files.skipDescendants() }
            if file.pathExtension == "md" { pages.append(try Page(file)) }
        }
        return pages
    }

    /// The targets of links and pictures, also if they are defined at the end of a page.
    private static func targets(_ page: Page) -> [String] {
        page.prose.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
            + page.prose.matches(of: /(?m)^\[[^\]]+\]: (\S+)$/).map { String($0.1) }
    }

    @Test func everyLinkOpensOnACodeHost() throws {
        let pages = try Self.files()
        #expect(pages.count > 60)
        var opened = 0
        for page in pages {
            let name = page.file.path.dropFirst(Page.root.path.count + 1)
            #expect(!page.prose.contains("doc:"), "\(name): a link that opens in DocC only")
            for target in Self.targets(page) where !target.hasPrefix("https://") && !target.hasPrefix("http://") {
                opened += 1
                let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let folder = page.file.deletingLastPathComponent()
                let file = parts[0].isEmpty ? page.file : folder.appendingPathComponent(String(parts[0])).standardized
                #expect(FileManager.default.fileExists(atPath: file.path), "\(name): \(target)")
                #expect(file.path.hasPrefix(Page.root.path + "/"), "\(name): \(target) leaves the repository")
                guard parts.count == 2, file.pathExtension == "md" else { continue }
                let anchors = Self.anchors(try Page(file))
                #expect(anchors.contains(String(parts[1])), "\(name): \(target)")
            }
        }
        #expect(opened > 250, "\(opened)")
    }

    @Test func everyPageIsListedOnceAndTheReadmeNamesTheList() throws {
        let pages = try Page.inCatalogue()
        let root = try #require(pages.first { $0.name == "Fanfare" })
        let listed = Self.targets(root)
        for page in pages where page.name != root.name {
            #expect(listed.count { $0 == "\(page.name).md" } == 1, "Fanfare.md lists \(page.name) not once")
        }
        let readme = try Page(Page.root.appendingPathComponent("README.md"))
        #expect(Self.targets(readme).contains("Sources/Documentation/Fanfare.docc/Fanfare.md"))
    }

    /// The anchors of a page's headings, as code hosts name them: a heading that repeats has a number.
    private static func anchors(_ page: Page) -> Set<String> {
        let text = page.text.replacing(/```(?:.*\n)*?```/, with: "")
        let headings = text.components(separatedBy: "\n").filter { $0.hasPrefix("#") }
        var (anchors, counts): (Set<String>, [String: Int]) = ([], [:])
        for heading in headings {
            let anchor = heading.drop { $0 == "#" || $0 == " " }.lowercased()
                .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                .replacing(" ", with: "-")
            let earlier = counts[anchor, default: 0]
            counts[anchor] = earlier + 1
            anchors.insert(earlier == 0 ? anchor : "\(anchor)-\(earlier)")
        }
        return anchors
    }
}
