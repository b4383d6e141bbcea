import FanfareHTTP
import FanfareJSON
import FanfareModel
import Testing

@Suite struct WebRequestTests {
    @Test(
        arguments: [
            ("/", []), ("//api/%61pi/", ["api", "api"]), ("/a%2Fb", ["a/b"]), ("/%C3%A9", ["é"]), ("/%zz", nil),
            ("/%C3", nil), ("/%", nil),
        ] as [(String, [String]?)]
    )
    func partsOfThePathAreDecoded(path: String, parts: [String]?) {
        #expect(WebRequest(method: "GET", path: path).parts == parts)
    }

    @Test func queryIsDecodedAndItsLastValueWins() {
        let text = "id=a%3Ab&text=a+b&id=2&flag&=x&bad=%zz&" + (0..<40).map { "n\($0)=1" }.joined(separator: "&")
        let query = WebRequest(method: "GET", path: "/", queryText: text).query
        #expect(query["id"] == "2" && query["text"] == "a b" && query["flag"]?.isEmpty == true && query["bad"] == nil)
        #expect(query["n20"] == "1" && query["n39"] == nil, "at most 32 pairs are read")
    }

    @Test func cookieIsFoundAmongOthers() {
        let request = WebRequest(method: "GET", path: "/", headers: ["cookie": "a=1; session=x=y ;b"])
        #expect(request.cookie("session") == "x=y " && request.cookie("a") == "1")
        #expect(request.cookie("b") == nil && WebRequest(method: "GET", path: "/").cookie("a") == nil)
    }

    @Test func bodyIsAJSONObjectOrEmpty() {
        var request = WebRequest(method: "POST", path: "/")
        #expect(request.object == JSONObject())
        request.body = Array(#"{"a":"b"}"#.utf8)
        #expect(request.object?["a"]?.string == "b")
        for text in ["[1]", "{", #""a""#] {
            request.body = Array(text.utf8)
            #expect(request.object == nil, "\(text)")
        }
    }

    @Test func hostIsThatOfTheHeader() {
        #expect(WebRequest(method: "GET", path: "/", headers: ["host": "LOCALHOST:1"]).host == "localhost")
        #expect(WebRequest(method: "GET", path: "/", headers: ["host": "[::1"]).host == nil)
        #expect(WebRequest(method: "GET", path: "/").host == nil)
    }
}

@Suite struct BearerCheckTests {
    private func check(_ tokens: [String], _ header: String?) -> BearerCheck.Result {
        var request = WebRequest(method: "GET", path: "/")
        request.headers["authorization"] = header
        return BearerCheck(tokens.map { BearerToken($0) }).check(request)
    }

    @Test func anyOfTheTokensIsAccepted() {
        for token in ["first", "second"] { #expect(check(["first", "second"], "Bearer \(token)") == .accepted) }
        #expect(check(["first", "second"], "bearer first") == .accepted)
    }

    @Test func wrongTokenDiffersFromAMissingOne() {
        #expect(check(["first"], nil) == .missing)
        for header in ["", "Bearer", "Bearer ", "Bearer firs", "Bearer first, Bearer first", "Basic first"] {
            #expect(check(["first"], header) == .wrong, "\(header)")
        }
    }

    @Test func serverWithoutATokenAcceptsEveryRequest() {
        #expect(check([], nil) == .accepted && check([], "Bearer any") == .accepted)
    }

    @Test func emptyTokenAcceptsNothing() {
        #expect(check([""], "Bearer ") == .wrong && check([""], nil) == .missing)
    }
}
