import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct StoredAudienceTests {
    @Test(arguments: ["a", "Black-Friday_2026.b", "-", String(repeating: "n", count: 128)])
    func nameOfItsPatternIsTaken(name: String) throws {
        #expect(try StoredAudience(name, in: "demo").key == "audience:{demo}:gateway:\(name)")
    }

    @Test(arguments: ["", String(repeating: "n", count: 129), ".a", ".all.7", "a b", "é", "a/b", "a}b"])
    func otherNameIsAProblem(name: String) {
        let problem = #expect(throws: ProblemDetails.self) { try StoredAudience(name, in: "demo") }
        #expect(problem?.status == 422 && problem?.detail.contains(StoredAudience.namePattern) == true)
    }

    @Test func draftIsNoAudience() throws {
        let audience = try StoredAudience("all", in: "demo")
        #expect(audience.draft("7") == "audience:{demo}:gateway:.all.7")
    }

    @Test func storedAudienceNamesWhatAJobNeeds() throws {
        let audience = try StoredAudience("all", in: "demo")
        let answer = audience.stored(.json, count: 3, expirySeconds: 60, isNew: true)
        #expect(answer.status == 201)
        let object = try #require(try JSONParser.parse(answer.body).object)
        #expect(object["audience"]?.string == audience.key && object["audience_format"]?.string == "json")
        #expect(object["count"]?.number?.text == "3" && object["expires_in"]?.number?.text == "60")
        #expect(audience.stored(.token, count: 3, expirySeconds: 60, isNew: false).status == 200)
    }
}
