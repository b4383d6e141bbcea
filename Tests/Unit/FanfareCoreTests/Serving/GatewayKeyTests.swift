import Testing

@testable import FanfareCore

@Suite struct GatewayKeyTests {
    private static let key = GatewayKey(
        name: "shop",
        proof: .digest(KeyTrial.digest(1)),
        projects: ["demo", "eu"],
        rights: [.push, .read]
    )

    @Test(
        arguments: [
            ("demo", .push, nil), ("eu", .read, nil), ("demo", .operate, .right(.operate)), ("other", .push, .project),
            // The project counts first: a refusal must not tell which rights a key has elsewhere.
            ("other", .operate, .project), ("", .push, .project), ("DEMO", .push, .project),
        ] as [(String, GatewayKey.Right, KeyFault?)]
    )
    func keyPermitsItsProjectsAndRightsOnly(project: String, right: GatewayKey.Right, expected: KeyFault?) {
        var found: KeyFault?
        do throws(KeyFault) { try Self.key.permit(right, on: project) } catch { found = error }
        #expect(found == expected)
    }

    @Test func requestWithoutAProjectNeedsAKeyOfOne() throws {
        #expect(try KeyTrial.key(1).onlyProject() == "demo")
        #expect(throws: KeyFault.severalProjects(key: "shop", ["demo", "eu"])) { try Self.key.onlyProject() }
    }

    @Test(arguments: ["a", "shop.v2", "Shop_backend-7", "7", String(repeating: "a", count: 64)])
    func nameIsValid(name: String) { #expect(GatewayKey.isValidName(name)) }

    @Test(arguments: [
        "", ".a", "-a", "a b", "a/b", "é", "a\n", String(repeating: "a", count: 65),
        "ffk_0123456789012345678901234567890123456789012",
    ])
    func nameIsInvalid(name: String) { #expect(!GatewayKey.isValidName(name)) }
}
