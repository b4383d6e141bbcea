import FanfareModel
import Testing

@testable import FCMWire

private typealias Files = CredentialFiles

/// What a peer repeats of a secret is not shown.
@Suite struct SecretEchoTests {
    /// An endpoint may repeat the whole request. The secrets of these files are too plain to be masked by their shape.
    @Test(arguments: [
        (TokenEndpoint.refresh, Files.user, ["SECRET-client", "SECRET-refresh"]),
        (.sts, Files.external(), ["SECRET"]),
        (.impersonation, Files.external(more: Files.impersonation), ["SECRET"]),
    ])
    func secretsOfTheRequestAreNotRepeated(endpoint: TokenEndpoint, file: String, secrets: [String]) throws {
        let echo = "bad: " + secrets.map { "x=\($0)&y=\($0.dropLast(4))" }.joined(separator: "&")
        let bodies = [
            #"{"error":"invalid_grant","error_description":"\#(echo)"}"#, #"{"error":"\#(echo)"}"#,
            #"{"error":{"code":403,"status":"DENIED","message":"\#(echo)"}}"#,
        ]
        for body in bodies {
            let answer = HTTPAnswer(status: 400, body: Array(body.utf8))
            let error = try Files.failure(of: try Files.parse(file), at: endpoint, answer)
            #expect("\(error)\(error.sentence)".contains("…[masked]"), "\(error)")
            for secret in secrets { #expect(!"\(error)\(error.sentence)".contains(secret), "\(error)") }
        }
    }

    @Test func encodedSecretIsMasked() {
        let text = "client_secret=a%2Fb%2Bc%2Fdef&rest"
        #expect(SecretEcho.masked(text, secrets: ["a/b+c/def"]) == "client_secret=…[masked]&rest")
        #expect(SecretEcho.masked("of a b", secrets: ["of", "zzzzzzzzz", ""]) == "of a b")
    }
}
