import FCMWire
import FanfareConfiguration
import TestSupport
import Testing

@testable import fanfare

@Suite struct AssumedMetadataServerTests {
    private static func load(_ projects: String) throws -> (configuration: Configuration, secrets: Secrets) {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let file = try folder.write("fanfare.yaml", "redis: { url: \"redis://h\" }\nprojects: { \(projects) }\n")
        _ = try folder.write("key", "k")
        let configuration = try Configuration.load(file: file, source: "-c", environment: [:], flags: [:])
        return (configuration, try configuration.loadSecrets())
    }

    /// The probes of a reload and its faults.
    private static func confirm(_ projects: String, replacing old: String, answer: String?) throws -> (Int, [String]) {
        let running = try load(old).configuration
        let (configuration, secrets) = try load(projects)
        var probes = 0
        var faults: [String] = []
        do throws(ConfigurationError) {
            try configuration.confirmMetadataServer(secrets, replacing: running) { _ in
                probes += 1
                return answer
            }
        } catch {
            faults = error.faults
        }
        return (probes, faults)
    }

    private static let legacy = "a: { transport: legacy, server_key_file: key }"
    private static let named = "a: { credentials: metadata }"

    @Test(arguments: ["\(named), b: ", "a: "], [legacy, named])
    func projectThatNewlyReliesOnAServerIsTakenUpIfItAnswers(projects: String, old: String) throws {
        let accepted = try Self.confirm(projects, replacing: old, answer: nil)
        #expect(accepted == (1, []))
        let refused = try Self.confirm(projects, replacing: old, answer: "refused")
        #expect(refused.0 == 1 && refused.1.count == 1)
        #expect(refused.1.first?.contains(".credentials: none named, GOOGLE_APPL") == true, "\(refused.1)")
    }

    @Test(arguments: ["a: ", "a: , b: "])
    func confirmedServerIsNotAskedAgain(projects: String) throws {
        #expect(try Self.confirm(projects, replacing: "a: ", answer: "refused") == (0, []))
    }

    @Test func namedIdentityIsNotProbed() throws {
        #expect(try Self.confirm(Self.named, replacing: Self.legacy, answer: "refused") == (0, []))
    }
}
