import Foundation
import RegexBuilder
import TestSupport
import Testing

/// FanfareClient and FanfareReceiving are built on every platform, so they import no module of one platform.
@Suite struct DependencyTests {
    /// One target of the manifest.
    struct Target: Equatable {
        var path = ""
        /// Targets of this package.
        var targets: [String] = []
        /// Products of other packages.
        var products: [String] = []
    }

    /// The targets of a manifest's floors, by name.
    static func targets(_ manifest: String) -> [String: Target] {
        var folders: [Substring: Substring] = [:]
        // A pair of the folders' list, or a call for one folder.
        for use in manifest.matches(of: /"([^"]+)"[:,] (\w+)[,)]/) { folders[use.2] = use.1 }
        var targets: [String: Target] = [:]
        for floor in manifest.matches(of: /let (\w+): Floor = \[\n((?:.|\n)*?)\n\]/) {
            guard let folder = folders[floor.1] else { continue }
            for entry in floor.2.matches(of: /"(\w+)": \[([^\]]*)\]/) {
                var target = Target(path: "\(folder)/\(entry.1)")
                // A product of another package is a word without quotation marks, or a call of one.
                for name in entry.2.matches(of: /\w+\("\w+"\)|\w+|"\w+"/).map(\.output) {
                    if name.hasPrefix("\"") {
                        target.targets.append(String(name.dropFirst().dropLast()))
                    } else {
                        target.products.append(String(name))
                    }
                }
                targets[String(entry.1)] = target
            }
        }
        return targets
    }

    /// The modules that a source file imports.
    static func imports(_ source: String) -> [String] {
        let attributes = /(?:@\w+(?:\([^)\n]*\))?[ \t]+)*/
        let access = /(?:(?:public|package|internal|fileprivate|private)[ \t]+)?/
        let kind = /(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)[ \t]+)?/
        let statement = Regex {
            /(?m)^[ \t]*/
            attributes
            access
            /import[ \t]+/
            kind
            Capture(/\w+/)
        }
        return source.matches(of: statement).map { String($0.1) }
    }

    private static func manifest() throws -> String {
        try String(contentsOf: Repository.root.appendingPathComponent("Package.swift"), encoding: .utf8)
    }

    private static func closure(of name: String, in targets: [String: Target]) -> Set<String> {
        var (found, open): (Set<String>, [String]) = ([], [name])
        while let next = open.popLast() {
            if found.insert(next).inserted { open += targets[next]?.targets ?? [] }
        }
        return found
    }

    @Test(arguments: [
        ("FanfareClient", ["FanfareClient", "FanfareJSON", "FanfareModel", "FanfareReceiving", "StreamWire"]),
        ("FanfareReceiving", ["FanfareJSON", "FanfareReceiving"]),
    ])
    func modulesImportOnlyEachOther(product: String, allowed: [String]) throws {
        let targets = Self.targets(try Self.manifest())
        let closure = Self.closure(of: product, in: targets)
        #expect(closure == Set(allowed), "the targets that \(product) depends on")
        for name in closure {
            let target = try #require(targets[name])
            #expect(target.products.isEmpty, "\(name) needs another package")
            let folder = Repository.root.appendingPathComponent(target.path)
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            var count = 0
            for case let file as URL in files where file.pathExtension == "swift" {
                count += 1
                for module in Self.imports(try String(contentsOf: file, encoding: .utf8)) {
                    #expect(allowed.contains(module), "\(file.lastPathComponent) imports \(module)")
                }
            }
            #expect(count > 0, "\(target.path) has no source")
        }
    }

    @Test func productsExposeNothingElse() throws {
        let manifest = try Self.manifest()
        for product in ["FanfareClient", "FanfareReceiving"] {
            let pattern = try Regex(#"\.library\(name: "\#(product)", targets: \[([^\]]*)\]\)"#)
            let match = try #require(manifest.firstMatch(of: pattern))
            let list = try #require(match.output[1].substring)
            let exposed = Set(list.matches(of: /"(\w+)"/).map { String($0.1) })
            #expect(exposed.isSubset(of: Self.closure(of: product, in: Self.targets(manifest))))
        }
    }

    @Test func everyFormOfImportIsRead() {
        let source = """
            import A
            internal import B
            @_exported public import C
            @preconcurrency import struct D.Part
                import E
            // import F
            @_spi(Some) @testable import G
            """
        #expect(Self.imports(source) == ["A", "B", "C", "D", "E", "G"])
    }

    @Test func dependenciesOfATargetAreRead() {
        let manifest = """
            let low: Floor = [
                "A": [],
                // A comment.
                "B": [
                    "A", deque, nio("P"),
                    "C",
                ],
            ]
            let unused: Floor = [
                "D": ["A"],
            ]
            let high: Floor = [
                "E": ["A"],
            ]
            let floors: KeyValuePairs = [
                "S/Low": low, "S/Middle": middle,
                "S/High": high,
            ]
            """
        let targets = Self.targets(manifest)
        #expect(targets["A"] == Target(path: "S/Low/A"))
        #expect(targets["B"] == Target(path: "S/Low/B", targets: ["A", "C"], products: ["deque", "nio(\"P\")"]))
        #expect(targets["D"] == nil && targets["E"] == Target(path: "S/High/E", targets: ["A"]))
        #expect(Self.closure(of: "B", in: targets) == ["A", "B", "C"])
    }
}
