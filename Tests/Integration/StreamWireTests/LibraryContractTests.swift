import Foundation
import StreamWire
import TestSupport
import Testing

/// The contract between Swift and Lua: names of arguments, and the form of the library's files.
@Suite struct LibraryContractTests {
    private static let folder = Repository.root.appendingPathComponent("Sources/Core/StreamWire")
    private static let library = String(decoding: FunctionLibrary.source, as: UTF8.self)

    private static func texts(_ path: String, _ type: String) throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(path).path)
        return try Dictionary(
            uniqueKeysWithValues: names.filter { $0.hasSuffix(type) }.map {
                ($0, try String(contentsOf: folder.appendingPathComponent("\(path)/\($0)"), encoding: .utf8))
            }
        )
    }

    /// The names in the first line of each function that Redis knows.
    private static func argumentsInLua() -> [String: [String]] {
        var arguments: [String: [String]] = [:]
        for match in library.matches(of: /register_function\('(\w+)', (?:plain|guarded|one_call)\((\w+)/) {
            let heads = ["\nfunction", "\nlocal function"].map { library.ranges(of: "\($0) \(match.2)(base") }
            let body = library[(heads.joined().first?.upperBound ?? library.endIndex)...]
            let line = body.prefixMatch(of: /(?:, \w+)*\)\n  local ([\w, \n]+?) =\s+unpack\(args, 1, (\d+)\)/)
            let names = line.map { $0.1.split(whereSeparator: { !$0.isLetter && $0 != "_" }).map(String.init) } ?? []
            arguments[String(match.1)] = line.map { Int($0.2) == names.count ? names : ["not \($0.2) names"] } ?? []
        }
        return arguments
    }

    /// The names that the calls of each function give to their arguments.
    private static func argumentsInSwift() throws -> [String: [String]] {
        var arguments: [String: [String]] = [:]
        for text in try texts("Functions", ".swift").values {
            for match in text.matches(of: /call\(\s*"(\w+)",\s*keys(?:,\s*\[(.*?)\]|\))/.dotMatchesNewlines()) {
                let names = (match.2 ?? "").matches(of: /"(\w+)":/).map { String($0.1) }
                arguments[String(match.1)] = names
            }
            // Calls whose arguments are written one by one, without a text for each.
            guard let call = text.firstMatch(of: /call\(\s*"(\w+)",\s*keys,\s*bytes:/) else { continue }
            let named = text.replacing(
                "results.append(to: &command)",
                with: #"as: "indexes" as: "letters" as: "objects""#
            )
            var names: [String] = []
            for match in named.matches(of: /as: "(\w+)"/) where names.last != String(match.1) {
                names.append(String(match.1))
            }
            arguments[String(call.1)] = names
        }
        return arguments
    }

    @Test func argumentsHaveTheSameNamesInTheSameOrder() throws {
        let (lua, swift) = (Self.argumentsInLua(), try Self.argumentsInSwift())
        #expect(lua.count == 36)
        #expect(Set(lua.keys) == Set(swift.keys))
        for (function, names) in lua { #expect(swift[function] == names, "\(function)") }
        #expect(lua["record"]?.count == 22)
    }

    @Test func libraryHasNoNumericSubscripts() {
        let subscripts = Self.library.split(separator: "\n").filter { $0.contains(/[\w\)\]]\[\d+\]/) }
        #expect(subscripts == [])
    }

    @Test func filesAndFunctionsAreShort() throws {
        for (name, text) in try Self.texts("Library", ".lua") {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count < 400, "\(name)")
            var start: Int?
            for (number, line) in lines.enumerated() {
                if line.hasPrefix("function ") || line.hasPrefix("local function ") { start = number }
                guard line == "end", let first = start else { continue }
                #expect(number - first < 60, "\(name):\(first + 1)")
                start = nil
            }
        }
    }
}
