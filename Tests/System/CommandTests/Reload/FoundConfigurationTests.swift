import FanfareConfiguration
import TestSupport
import Testing

@testable import fanfare

/// A configuration that a command found in its usual place, as the unit's worker does.
@Suite struct FoundConfigurationTests {
    private let folder: TemporaryFolder
    private let source: ConfigurationSource

    init() throws {
        folder = try TemporaryFolder()
        let file = try folder.write("fanfare.yaml", "projects_dir: projects.d\n")
        try runProgram("/bin/mkdir", [folder.file("projects.d")])
        _ = try folder.write("projects.d/demo.yaml", "quota_per_minute: 1000\ncredentials: demo.json\n")
        // A file that no flag and no variable names is its own source.
        source = ConfigurationSource(file: file, name: file, environment: [:], flags: [:])
    }

    private func load() throws -> (state: Configuration, refused: [String: [String]]) {
        try Configuration.loadAccepted { omitted throws(ConfigurationError) -> Configuration in
            try source.load(omitting: omitted)
        }
    }

    @Test(arguments: [
        "endpointt: x", "quota_per_minute: 0", "transport: smoke", "endpoint: https://example.com", "[: {",
    ])
    func refusedFileOfAProjectKeepsOnlyItsProject(_ line: String) throws {
        _ = try folder.write("projects.d/shop.yaml", line + "\n")
        let loaded = try load()
        #expect(loaded.refused.keys.sorted() == ["shop"])
        #expect(loaded.state.projects.map(\.id) == ["demo"])
    }

    @Test func hintIsNoFault() throws {
        _ = try folder.write("fanfare.yaml", "redsi: {}\n")
        let error = #expect(throws: ConfigurationError.self) { try load() }
        #expect(error?.faults == ["redsi (line 1): unknown key; did you mean redis?"])
        #expect(error?.hint == "read from \(folder.file("fanfare.yaml")); -c names another file")
    }
}
