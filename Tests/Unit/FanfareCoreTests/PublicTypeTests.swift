import Foundation
import TestSupport
import Testing

/// A public type of `FanfareCore` is part of the product: a model that only tests use belongs to the tests.
@Suite struct PublicTypeTests {
    /// Returned values that callers take apart without naming their type.
    private static let unnamed: Set<String> = ["Conclusion", "IntakeDecision", "RetryDecision"]

    /// The words of a source without the lines that are comments.
    private static func words(_ source: String) -> Set<Substring> {
        let code = source.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        return Set(code.flatMap { $0.split { !($0.isLetter || $0.isNumber || $0 == "_") } })
    }

    /// The types that a source declares public.
    private static func publicTypes(_ source: String) -> [String] {
        let declaration = /(?m)^ *public (?:final |indirect )?(?:struct|enum|class|actor|protocol|typealias) (\w+)/
        return source.matches(of: declaration).map { String($0.1) }
    }

    @Test func everyPublicTypeIsUsedByAnotherProductionFile() throws {
        let folder = Repository.root.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var types: [(name: String, file: String)] = []
        var users: [String: Set<String>] = [:]
        for case let file as URL in files where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            if file.path.contains("/Core/FanfareCore/") {
                types += Self.publicTypes(source).map { ($0, file.lastPathComponent) }
            }
            for word in Self.words(source) where word.first?.isUppercase == true {
                users[String(word), default: []].insert(file.path)
            }
        }
        #expect(types.count > 80)
        for type in types where users[type.name]?.count == 1 && !Self.unnamed.contains(type.name) {
            Issue.record("only tests use \(type.name) of \(type.file)")
        }
    }

    @Test func everyFormOfDeclarationIsRead() {
        let source = """
            public struct A: Sendable {
                public enum B {}
                struct C {}
            }
            public indirect enum D {}
            // public struct E {}
            public final class F {}
            """
        #expect(Self.publicTypes(source) == ["A", "B", "D", "F"])
        #expect(Self.words("  // One\nlet two: Three<Four>") == ["let", "two", "Three", "Four"])
    }
}
