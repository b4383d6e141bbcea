import FCMWire
import FanfareModel
import Testing

/// A proxy's answer in place of a token endpoint's is no refusal of the credential.
@Suite struct TokenPageTests {
    static let pages = [
        "", "<html>Forbidden</html>", "Forbidden", "[]", #"{"message":"Forbidden"}"#,
        #"{"timestamp":1,"status":403,"error":"Forbidden","path":"/token"}"#, #"{"error":"Not Found"}"#,
        #"{"error":"access denied"}"#, #"{"error":{"code":"AccessDenied","message":"m"}}"#,
        #"{"error":{"status":"no"}}"#,
        #"{"error":"invalid_grant""#,
    ]

    private static func kind(_ status: Int, _ body: String, _ endpoint: TokenEndpoint) -> TokenError.Kind? {
        guard case .answered(let page) = answer(status, body),
            case .failure(let error) = TokenRequest.parse(page, from: endpoint)
        else { return nil }
        return error.kind
    }

    @Test(arguments: [TokenEndpoint.assertion, .refresh, .sts, .impersonation], [302, 400, 401, 403, 404, 407, 413])
    func pageNeverBlocksTheProject(endpoint: TokenEndpoint, status: Int) {
        for page in Self.pages { #expect(Self.kind(status, page, endpoint) == .worker, "\(page)") }
    }

    @Test(arguments: [408, 429, 500, 502, 503, 511]) func pageOfAnOverloadIsRetried(status: Int) {
        for page in Self.pages { #expect(Self.kind(status, page, .assertion) == .retry, "\(page)") }
    }

    @Test(arguments: [
        #"{"error":"unauthorized_client"}"#, #"{"error":"access_denied"}"#,
        #"{"error":{"code":403,"message":"m","status":"PERMISSION_DENIED"}}"#, #"{"error":{"code":403}}"#,
    ])
    func refusalInTheEndpointsWordsBlocks(body: String) {
        #expect(Self.kind(403, body, .assertion) == .blocked)
    }
}
