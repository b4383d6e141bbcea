import FanfareJSON
import Testing

@testable import FCMSimulator

@Suite struct TokenTests {
    @Test func `a valid assertion is exchanged for a bearer token`() throws {
        var trial = Trial()
        let reply = trial.exchange(TokenText.body(nowMs: trial.nowMs), newToken: "ya29.fresh")
        #expect(reply.status == 200)
        let body = try reply.json()
        #expect(body["access_token"] == "ya29.fresh")
        #expect(body["token_type"] == "Bearer")
        #expect(body["expires_in"] == 3_599)
        trial.authorization = "Bearer ya29.fresh"
        #expect(trial.send("t").status == 200)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var body: String
        var isSignatureValid = true
        var error = "invalid_grant"
        var testDescription: String { name }
    }

    static let now: Int64 = 1_800_000_000_000
    static let rows = [
        Row(name: "signature", body: TokenText.body(nowMs: now), isSignatureValid: false),
        Row(name: "stranger", body: TokenText.body(nowMs: now, issuer: "who@else.example")),
        Row(name: "audience", body: TokenText.body(nowMs: now, audience: "https://else/token")),
        Row(name: "from the future", body: TokenText.body(nowMs: now, issuedAgo: -601)),
        Row(name: "expired", body: TokenText.body(nowMs: now, issuedAgo: 4_201, lifetime: 3_600)),
        Row(name: "too long", body: TokenText.body(nowMs: now, lifetime: 3_601)),
        Row(name: "algorithm", body: TokenText.body(nowMs: now, algorithm: "none")),
        Row(name: "no scope", body: TokenText.body(nowMs: now, scope: ""), error: "invalid_scope"),
        Row(name: "scope", body: TokenText.body(nowMs: now, scope: "email"), error: "invalid_scope"),
        Row(name: "grant type", body: "grant_type=password&assertion=x", error: "unsupported_grant_type"),
        Row(
            name: "no assertion",
            body: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer",
            error: "invalid_request"
        ),
        Row(
            name: "garbage",
            body: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b",
            error: "invalid_grant"
        ),
    ]

    @Test(arguments: rows)
    func `an invalid assertion is refused with OAuth's error`(row: Row) throws {
        var trial = Trial()
        let reply = trial.exchange(row.body, isSignatureValid: row.isSignatureValid)
        #expect(reply.status == 400)
        #expect(try reply.json()["error"]?.string == row.error)
    }

    @Test func `clocks may differ by ten minutes`() {
        var trial = Trial()
        #expect(trial.exchange(TokenText.body(nowMs: trial.nowMs, issuedAgo: -590)).status == 200)
        #expect(trial.exchange(TokenText.body(nowMs: trial.nowMs, issuedAgo: 4_190)).status == 200)
    }

    /// Clients sign and renew by their own clock, which nobody moves.
    @Test func `credentials expire by the caller's clock, not by the moved one`() throws {
        var trial = Trial()
        let topics = #"{"to":"/topics/news","registration_tokens":["t"]}"#
        for _ in 0..<2 {
            #expect(trial.control("POST", "/clock", #"{"advance_ms":25920000000}"#).status == 200)
            #expect(trial.send("t").status == 200)
            #expect(trial.topics("batchAdd", topics).status == 200)
            #expect(trial.exchange(TokenText.body(nowMs: trial.nowMs), newToken: "fresh").status == 200)
            let moved = trial.nowMs + trial.simulator.clockOffsetMs
            #expect(trial.exchange(TokenText.body(nowMs: moved)).status == 400)
        }
        trial.nowMs += 3_599_999
        #expect(trial.send("t").status == 200)
        trial.nowMs += 1
        #expect(trial.send("t").status == 401)
        #expect(trial.topics("batchAdd", topics).status == 401)
        #expect(trial.control("POST", "/reset").status == 200)
        #expect(trial.send("t").status == 401)
    }

    @Test func `an access token of another scope may not send`() throws {
        var trial = Trial()
        let scope = "https://www.googleapis.com/auth/devstorage.read_only"
        #expect(trial.exchange(TokenText.body(nowMs: trial.nowMs, scope: scope), newToken: "other").status == 200)
        trial.authorization = "Bearer other"
        let reply = trial.send("t")
        #expect(reply.status == 403)
        #expect(try reply.detail("ErrorInfo")?["reason"] == "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    }
}
