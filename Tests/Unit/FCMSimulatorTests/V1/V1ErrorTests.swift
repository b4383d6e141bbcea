import FCMSimulator
import FanfareJSON
import Testing

@Suite struct V1ErrorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var token: String
        var code: Int
        var status: String
        var fcmError: String
        var detail = ""
        var testDescription: String { token }
    }

    static let rows = [
        Row(token: "sbx-unregistered-1", code: 404, status: "NOT_FOUND", fcmError: "UNREGISTERED"),
        Row(
            token: "sbx-invalid-1",
            code: 400,
            status: "INVALID_ARGUMENT",
            fcmError: "INVALID_ARGUMENT",
            detail: "BadRequest"
        ),
        Row(token: "sbx-mismatch-1", code: 403, status: "PERMISSION_DENIED", fcmError: "SENDER_ID_MISMATCH"),
        Row(
            token: "sbx-auth-1",
            code: 401,
            status: "UNAUTHENTICATED",
            fcmError: "THIRD_PARTY_AUTH_ERROR",
            detail: "ApnsError"
        ),
        Row(token: "sbx-unavailable-1-a", code: 503, status: "UNAVAILABLE", fcmError: "UNAVAILABLE"),
        Row(token: "sbx-internal-1-a", code: 500, status: "INTERNAL", fcmError: "INTERNAL"),
        Row(token: "sbx-quota-1-a", code: 429, status: "RESOURCE_EXHAUSTED", fcmError: "QUOTA_EXCEEDED"),
        Row(
            token: "sbx-devicerate-1-a",
            code: 429,
            status: "RESOURCE_EXHAUSTED",
            fcmError: "QUOTA_EXCEEDED",
            detail: "QuotaFailure"
        ),
    ]

    @Test(arguments: rows)
    func `each prefix of a token causes its error`(row: Row) throws {
        var trial = Trial()
        let reply = trial.send(row.token)
        #expect(reply.status == row.code)
        let error = try reply.error()
        #expect(error["code"]?.number?.int64 == Int64(row.code))
        #expect(error["status"]?.string == row.status)
        #expect(try reply.fcmError() == row.fcmError)
        if !row.detail.isEmpty { #expect(try reply.detail(row.detail) != nil) }
        #expect(try trial.control("GET", "/stats").json()["rejected"]?.object?[row.fcmError] == 1)
        #expect(try trial.deliveries(row.token).isEmpty)
    }

    @Test func `an unregistered and a disabled Apple device have different errors`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"a","platform":"apple","state":"unregistered"}"#)
        trial.control("POST", "/devices", #"{"token":"b","platform":"apple","state":"disabled"}"#)
        let gone = trial.send("a")
        #expect(gone.status == 404)
        #expect(try gone.fcmError() == "UNREGISTERED")
        #expect(try gone.detail("ApnsError")?["statusCode"] == 410)
        let disabled = trial.send("b")
        #expect(disabled.status == 400)
        #expect(try disabled.error()["message"] == "APNs device token is disabled.")
        #expect(try disabled.detail("ApnsError")?["statusCode"] == 410)
    }

    @Test func `a request without a valid credential is refused as on the live service`() throws {
        var trial = Trial()
        let good = trial.authorization
        trial.authorization = nil
        let missing = trial.send("t")
        #expect(missing.status == 401)
        #expect(try missing.error()["message"]?.string?.hasPrefix("Request is missing required") == true)
        #expect(missing.header("www-authenticate") != nil)
        trial.authorization = "Bearer stranger"
        let unknown = trial.send("t")
        #expect(unknown.status == 401)
        #expect(try unknown.fcmError() == nil)
        trial.authorization = good
        #expect(trial.send("t").status == 200)
        let foreign = trial.v1(#"{"message":{"token":"t"}}"#, project: "other")
        #expect(foreign.status == 403)
        #expect(try foreign.detail("ErrorInfo")?["reason"] == "IAM_PERMISSION_DENIED")
        trial.nowMs += 3_600_000
        let expired = trial.send("t")
        #expect(expired.status == 401)
        #expect(try expired.detail("ErrorInfo")?["reason"] == "ACCESS_TOKEN_EXPIRED")
    }

    @Test func `an unknown project is answered with 404 without an FcmError`() throws {
        var trial = Trial()
        let reply = trial.v1(#"{"message":{"token":"t"}}"#, project: "nobody")
        #expect(reply.status == 404)
        #expect(try reply.fcmError() == nil)
        #expect(trial.v1(#"{"message":{"token":"t"}}"#, project: Trial.project.senderID).status == 200)
    }

    @Test func `the project's quota starts with its first use and lasts a minute`() throws {
        var trial = Trial(quotaPerMinute: 2)
        #expect(trial.send("t").status == 200)
        trial.nowMs += 50_000
        // A refused message counts like any other.
        #expect(trial.send("sbx-invalid-1").status == 400)
        let over = trial.send("t")
        #expect(over.status == 429)
        #expect(try over.fcmError() == nil)
        #expect(try over.detail("QuotaFailure") == nil)
        let info = try #require(try over.detail("ErrorInfo"))
        #expect(info["reason"] == "RATE_LIMIT_EXCEEDED")
        #expect(info["domain"] == "googleapis.com")
        #expect(over.header("retry-after") == "10")
        #expect(try trial.statistic("quota_rejections") == 1)
        trial.nowMs += 10_000
        #expect(trial.send("t").status == 200)
    }
}
