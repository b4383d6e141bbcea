import Foundation
import TestSupport
import Testing

/// The pages of the gateway against what it serves.
@Suite struct GatewayPageTests {
    private static let description = Repository.root
        .appendingPathComponent("Sources/Gateway/FanfareGateway/openapi.json")

    /// Each call of the API's description is a row of the page, and no other.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: description.path), "no description of the API"))
    func everyCallOfTheAPIIsOnItsPage() throws {
        let json = try JSONSerialization.jsonObject(with: Data(contentsOf: Self.description)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: Any]])
        let methods = ["get", "put", "post", "delete", "patch"]
        let described = Set(
            paths.flatMap { path, operations in
                operations.keys.filter(methods.contains).map { "\($0.uppercased()) \(path)" }
            }
        )
        let page = try Page(Page.catalogue.appendingPathComponent("GatewayAPI.md"))
        let listed = Set(page.text.matches(of: /(?m)^\| `([A-Z]+ \/[^`]+)` \|/).map { String($0.1) })
        #expect(described.symmetricDifference(listed).sorted() == [])
    }

    /// The unit, the manifests and the page use the settings' names.
    @Test func everySettingOfThePageExists() throws {
        let source = Repository.root
            .appendingPathComponent("Sources/Worker/FanfareConfiguration/Settings/GatewaySettings.swift")
        let settings = try String(contentsOf: source, encoding: .utf8)
        let pages = try Page.all.map(\.text).joined(separator: "\n")
        let named = Set(pages.matches(of: /`gateway\.([a-z_]+)/).map { String($0.1) })
        #expect(named.count > 6)
        for name in named where name != "yaml" && name != "pem" && name != "key" {
            #expect(settings.contains("\"gateway.\(name)\""), "\(name)")
        }
    }
}
