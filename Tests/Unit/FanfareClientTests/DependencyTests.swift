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

    /// The targets that a manifest declares in its usual form, by name.
    static func targets(_ manifest: String) -> [String: Target] {
        var targets: [String: Target] = [:]
        let starts = manifest.matches(of: /\.(?:target|executableTarget|testTarget|systemLibrary)\(\s*name: "(\w+)",/)
        for (index, start) in starts.enumerated() {
            let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : manifest.endIndex
            let text = manifest[start.range.upperBound..<end]
            guard let path = text.firstMatch(of: /path: "([^"]+)"/) else { continue }
            var target = Target(path: String(path.1))
            if let list = text[..<path.range.lowerBound].firstMatch(of: /dependencies: \[((?:.|\n)*)\]/) {
                let product = /\.product\(\s*name: "(\w+)"[^)]*\)/
                target.products = list.1.matches(of: product).map { String($0.1) }
                target.targets = list.1.replacing(product, with: "").matches(of: /"(\w+)"/).map { String($0.1) }
            }
            targets[String(start.1)] = target
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
            .target(name: "A", path: "S/A", swiftSettings: pure),
            .target(
                name: "B",
                dependencies: [
                    "A", .product(name: "P", package: "q"),
                    "C",
                ],
                path: "S/B",
            ),
            .systemLibrary(name: "C", path: "S/C", providers: [.apt(["x"])]),
            """
        let targets = Self.targets(manifest)
        #expect(targets["A"] == Target(path: "S/A"))
        #expect(targets["B"] == Target(path: "S/B", targets: ["A", "C"], products: ["P"]))
        #expect(Self.closure(of: "B", in: targets) == ["A", "B", "C"])
    }
}
