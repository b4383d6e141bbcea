import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct AudienceAnswerTests {
    private static func object(_ answer: ServedAnswer) throws -> JSONObject {
        try #require(try JSONParser.parse(answer.body, limits: JSONLimits()).object)
    }

    @Test(arguments: [
        ("a", true), ("Black-Friday_2026.b", true), ("-", true), (String(repeating: "n", count: 128), true),
        ("", false),
        (String(repeating: "n", count: 129), false), (".a", false), ("a b", false), ("é", false), ("a/b", false),
        ("a}b", false),
    ])
    func nameIsChecked(name: String, isValid: Bool) {
        #expect(AudiencePath(["v1", "projects", "p", "audiences", name])?.isNameValid == isValid)
    }

    @Test func keysCarryTheHashTagAndDraftsAreNoAudience() throws {
        let path = try #require(AudiencePath(["v1", "projects", "demo", "audiences", "all"]))
        #expect(path.key == "audience:{demo}:gateway:all")
        #expect(path.draft("7") == "audience:{demo}:gateway:.all.7")
        #expect(AudiencePath(["v1", "projects", "demo", "audiences", ".all.7"])?.isNameValid == false)
    }

    @Test(arguments: [
        nil, [], ["v1", "projects", "p", "audiences"], ["v1", "projects", "p", "jobs", "a"],
        ["v1", "projects", "p", "audiences", "a", "b"], ["v2", "projects", "p", "audiences", "a"],
    ])
    func otherPathsAreNone(parts: [String]?) { #expect(AudiencePath(parts) == nil) }

    @Test func storedAudienceNamesWhatAJobNeeds() throws {
        let path = try #require(AudiencePath(["v1", "projects", "demo", "audiences", "all"]))
        let answer = AudienceAnswer.stored(path, .json, count: 3, expirySeconds: 60, isNew: true)
        #expect(answer.status == 201)
        let object = try Self.object(answer)
        #expect(object["audience"]?.string == path.key && object["audience_format"]?.string == "json")
        #expect(object["count"]?.number?.text == "3" && object["expires_in"]?.number?.text == "60")
        #expect(AudienceAnswer.stored(path, .token, count: 3, expirySeconds: 60, isNew: false).status == 200)
    }

    @Test func faultNamesItsLine() throws {
        let answer = AudienceAnswer.fault(.init(line: 17, rule: "no token"))
        #expect(answer.status == 422 && answer.type == "application/problem+json")
        let object = try Self.object(answer)
        #expect(object["detail"]?.string == "line 17: no token" && object["title"]?.string == "Unprocessable Content")
        #expect(object["errors"]?.array?.first?.object?["line"]?.number?.text == "17")
    }

    @Test(arguments: [
        (GatewayError.noKey, 401, "Unauthorized"), (.project("x"), 403, "Forbidden"),
        (.method(allowed: "PUT"), 405, "Method Not Allowed"), (.tooLarge(maximumBytes: 1), 413, "Content Too Large"),
        (.malformedBody("no gzip"), 400, "Bad Request"),
        (.unavailable("x", retryAfterMs: 1_500), 503, "Service Unavailable"),
    ])
    func refusalsAreProblems(refusal: GatewayError, status: Int, title: String) throws {
        let answer = AudienceAnswer.refusal(refusal)
        #expect(answer.status == status && answer.headers == refusal.v1Answer.headers)
        let object = try Self.object(answer)
        #expect(object["title"]?.string == title && object["status"]?.number?.text == "\(status)")
    }

    @Test func deletionOfNoneIs404() {
        #expect(AudienceAnswer.deleted(existed: true).status == 204)
        #expect(AudienceAnswer.deleted(existed: false).status == 404)
    }
}
