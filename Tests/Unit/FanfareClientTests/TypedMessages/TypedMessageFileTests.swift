import Foundation
import TestSupport
import Testing

/// The typed message has the fields of the workers' table.
@Suite struct TypedMessageFileTests {
    private static let folder = "Sources/Clients/FanfareClient/Messages/Generated"
    private static let samples = "Tests/Unit/FanfareClientTests/TypedMessages/MessageSamples.swift"

    /// Fails when the table gains a field that `MessageDescriptions` does not name, or the sources are older than the table.
    @Test func sourcesEqualTheTable() throws {
        let source = try TypedMessageSource()
        var files = source.files.map { ("\(Self.folder)/\($0.name)", $0.text) }
        files.append((Self.samples, source.samples))
        let isWriting = ProcessInfo.processInfo.environment["FANFARE_WRITE_MESSAGES"] != nil
        for (path, text) in files {
            let file = Repository.root.appendingPathComponent(path)
            if isWriting { try text.write(to: file, atomically: true, encoding: .utf8) }
            let written = try? String(contentsOf: file, encoding: .utf8)
            #expect(
                written == text,
                "\(path): run FANFARE_WRITE_MESSAGES=1 swift test --filter TypedMessageFileTests and commit the files"
            )
        }
        let folder = Repository.root.appendingPathComponent(Self.folder)
        let found = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(found) == Set(source.files.map(\.name)), "files of \(Self.folder)")
    }
}
