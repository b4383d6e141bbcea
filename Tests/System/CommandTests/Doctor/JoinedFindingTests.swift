import Testing

@testable import fanfare

@Suite struct JoinedFindingTests {
    private static let ids = (1...40).map { "p\($0)" }

    @Test func equalFindingsOfManyProjectsBecomeOne() {
        let files = Self.ids.enumerated().map {
            Finding(
                check: "credentials of \($1)",
                severity: .fail,
                text: "projects.\($1).credentials (line \($0)): No such file",
                remedy: "correct it"
            )
        }
        let workers = Self.ids.map {
            Finding(check: "workers", severity: .warn, text: "none is alive for project \($0), where no job waits")
        }
        let states = Self.ids.map { Finding(check: "project \($0)", severity: .ok, text: "idle") }
        let joined = (files + workers + states).joined(projects: Self.ids)
        #expect(joined.map(\.check) == ["credentials of 40 projects", "workers", "40 projects"])
        #expect(
            joined.map(\.text) == [
                "the first: projects.p1.credentials (line 0): No such file",
                "40 projects; the first: none is alive for project p1, where no job waits", "idle",
            ]
        )
        #expect(joined[0].remedy == "correct it" && joined[0].severity == .fail)
    }

    @Test func otherFindingsStayAlone() {
        let findings = [
            Finding(check: "redis", severity: .ok, text: "version 7"),
            Finding(check: "project p1", severity: .ok, text: "idle"),
            Finding(check: "project p2", severity: .ok, text: "idle"),
            Finding(check: "project p3", severity: .ok, text: "working"),
            Finding(check: "project p4", severity: .fail, text: "idle"),
        ]
        #expect(findings.joined(projects: Self.ids) == findings)
    }
}
