import FanfareJSON
import Foundation
import OpenSSLKit
import Testing

/// Authenticates with a service account's file as Google's libraries do.
struct Account {
    let email: String
    let tokenURI: String
    let key: RS256Signer

    init(file: String) throws {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let object = try #require(try JSONParser.parse(Array(text.utf8)).object)
        #expect(object["type"] == "service_account")
        email = try #require(object["client_email"]?.string)
        tokenURI = try #require(object["token_uri"]?.string)
        key = try RS256Signer(pem: Array(try #require(object["private_key"]?.string).utf8))
    }

    func assertion(signedBy other: RS256Signer? = nil) throws -> String {
        let now = Int(Date().timeIntervalSince1970)
        let scope = "https://www.googleapis.com/auth/firebase.messaging"
        let claims =
            #"{"iss":"\#(email)","aud":"\#(tokenURI)","scope":"\#(scope)","iat":\#(now),"exp":\#(now + 3_600)}"#
        let input = base64(Data(#"{"alg":"RS256","typ":"JWT"}"#.utf8)) + "." + base64(Data(claims.utf8))
        let signature = try (other ?? key).sign(Array(input.utf8))
        return input + "." + base64(Data(signature))
    }

    func form(signedBy other: RS256Signer? = nil) throws -> String {
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + (try assertion(signedBy: other))
    }

    func accessToken(_ sandbox: RunningSandbox) async throws -> String {
        let reply = try await sandbox.client.ask(tokenURI, body: try form())
        #expect(reply.status == 200)
        let object = try #require(try JSONParser.parse(Array(reply.body.utf8)).object)
        return try #require(object["access_token"]?.string)
    }

    private func base64(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
