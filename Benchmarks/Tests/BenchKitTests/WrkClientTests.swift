import Testing

@testable import BenchKit

struct WrkClientTests {
    @Test func outcomeIsReadFromTheLineOfTheScript() {
        let output = """
            Running 12s test @ https://localhost:1
            50000 requests in 12.00s, 20.00MB read
            outcome 50000 9.999800 20.100 52.900 88.000 0
            """
        #expect(
            WrkClient.outcome(output)
                == WrkClient.Outcome(sends: 50_000, seconds: 9.9998, milliseconds: [20.1, 52.9, 88], errors: 0)
        )
        #expect(WrkClient.outcome("unable to connect") == nil)
        #expect(WrkClient.outcome("outcome 1 2 nan") == nil)
    }

    /// As recorded from firebase-admin 7.7.0: `Content-Length: 367` for a token of 157 characters.
    @Test func bytesAreThoseOfTheLibrary() {
        let token = Payload.token(2)
        #expect(Payload.sdkBody(token: token).utf8.count == 367)
        #expect(Payload.sdkBody(token: token).hasSuffix(#"is on its way"}, "token": "\#(token)"}}"#))
        #expect(
            WrkClient.head(origin: "https://localhost:4", key: "KEY")
                == "POST /v1/projects/demo/messages:send HTTP/1.1\r\nHost: localhost:4\r\n"
                + "User-Agent: python-requests/2.34.2\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\n"
                + "Connection: keep-alive\r\nX-GOOG-API-FORMAT-VERSION: 2\r\n"
                + "X-FIREBASE-CLIENT: fire-admin-python/7.7.0\r\n"
                + "x-goog-api-client: gl-python/3.11.2 fire-admin/7.7.0 cred-type/u\r\nauthorization: Bearer KEY\r\n"
        )
    }
}
