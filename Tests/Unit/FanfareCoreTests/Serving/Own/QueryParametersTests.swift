import Testing

@testable import FanfareCore

@Suite struct QueryParametersTests {
    private static let names = ["limit", "state", "after"]

    @Test func valuesAreDecoded() throws {
        let query = try QueryParameters("limit=7&after=1-0%2F2&state=a+b", Self.names)
        #expect(query["after"] == "1-0/2" && query["state"] == "a b")
        #expect(try query.number("limit", in: 1...10) == 7)
        #expect(try QueryParameters("", Self.names).number("limit", in: 1...10) == nil)
    }

    @Test(arguments: [
        ("limt=1", "limt: unknown parameter"), ("limit=1&limit=1", "limit: given more than once"),
        ("limit", "limit: has no value"), ("limit=%zz", "limit: has no value"), ("limit=%ff", "limit: has no value"),
        ("=1", ": unknown parameter"),
    ])
    func misspeltParametersAreFaults(text: String, detail: String) {
        let problem = #expect(throws: ProblemDetails.self) { try QueryParameters(text, Self.names) }
        #expect(problem?.detail == detail && problem?.status == 400)
    }

    @Test(arguments: ["", "0", "11", "-1", "+1", "1.0", "x", "99999999999999999999"])
    func numbersAreDigitsInTheirRange(text: String) throws {
        let query = try QueryParameters("limit=\(text)", Self.names)
        #expect(throws: ProblemDetails.self) { try query.number("limit", in: 1...10) }
    }

    @Test func wordsAreOfTheirList() throws {
        let query = try QueryParameters("state=done", Self.names)
        #expect(try query.choice("state", of: ["done", "paused"]) == "done")
        #expect(throws: ProblemDetails.self) { try query.choice("state", of: ["paused"]) }
        #expect(throws: ProblemDetails.self) { try query.value("state", "wrong") { Int($0) } }
    }
}
