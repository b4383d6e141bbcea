import TestSupport
import Testing

@testable import fanfare

@Suite struct EqualCausesTests {
    private static func missing(_ project: String, line: Int) -> String {
        "projects.\(project).credentials (line \(line)): No such file; run `x \(project)`"
    }

    @Test func sentencesOfOneCauseBecomeOne() {
        let many = (1...5).map { Self.missing("p\($0)", line: $0 * 3) }
        let other = "redis.url (line 1): empty"
        #expect(EqualCauses.joined([other] + many + [other]) == [other, "5 projects; the first: \(many[0])", other])
    }

    @Test func fewSentencesAndOtherCausesStayAlone() {
        let few = (1...3).map { Self.missing("p\($0)", line: $0) }
        let other = (4...6).map { "projects.p\($0).server_key_file: No such file; run `x p\($0)`" }
        let shared = (1...5).map { _ in "tls.ca_file (line 2): No such file" }
        for sentences in [few + other, shared] { #expect(EqualCauses.joined(sentences) == sentences) }
    }

    @Test func missingFilesOfFortyProjectsAreOneLineAndNameTheSandbox() async throws {
        let folder = try TemporaryFolder()
        let projects = (1...40).map {
            "  p\($0): { credentials: sandbox/service-account-p\($0).json, endpoint: \"https://localhost:1\" }"
        }
        let file = try folder.write("f.yaml", "projects:\n" + projects.joined(separator: "\n"))
        let check = try await CommandRun(["config", "check", "-c", file])
        let lines = check.err.split(separator: "\n")
        try #require(check.status == 78 && lines.count == 2, "\(check.err)")
        #expect(
            lines[0].hasPrefix(
                "fanfare: configuration: 40 projects; the first: projects.p1.credentials (line 2): No such"
            )
        )
        #expect(lines[1].hasPrefix("fanfare: configuration: `fanfare sandbox` writes the missing files"))
        let google = try folder.write("g.yaml", "projects: { p: { credentials: service-account-p.json } }")
        #expect(try await !CommandRun(["config", "check", "-c", google]).err.contains("sandbox"))
    }
}
