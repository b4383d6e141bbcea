internal import FanfareJSON
internal import FanfareModel

/// Google's error object, `{"error":{"code","message","status","details":[…]}}`, reduced to the fields that verdicts
/// need. Details come in any order and number; a value of a wrong type counts as absent.
struct V1ErrorEnvelope: Equatable {
    var status: String?
    var message: String?
    /// The code of `FcmError`; nil also for `UNSPECIFIED_ERROR`, which adds nothing to the status.
    var fcmCode: String?
    var apnsStatus: Int64?
    /// Apple's own word, such as `BadDeviceToken`.
    var apnsReason: String?
    /// The reasons of `ErrorInfo`.
    var reasons: [String] = []
    var hasQuotaFailure = false
    /// The quota that `QuotaFailure` or `ErrorInfo` names. A subject is left out: it may be a token.
    var quota: String?
    /// The wait that `RetryInfo` asks for.
    var retryDelay = RetryAfter.none
    /// The fields that `BadRequest` names.
    var violatedFields: [String] = []

    /// Nil when the body is not such an object.
    init?(_ body: [UInt8]) {
        guard let object = (try? JSONParser.parse(body))?.object else { return nil }
        self.init(object)
    }

    /// Nil when the object holds no such error. Other servers' error objects have neither Google's numeric `code` nor its
    /// `status`, and no `FcmError`.
    init?(_ object: JSONObject) {
        guard let error = object["error"]?.object else { return nil }
        status = error["status"]?.string
        message = error["message"]?.string
        for detail in error["details"]?.array ?? [] {
            if let detail = detail.object { read(detail) }
        }
        guard status != nil || fcmCode != nil || error["code"]?.number != nil else { return nil }
    }

    /// Names that the answer gives the error, most specific first.
    var rawCode: String {
        fcmCode ?? reasons.first ?? status ?? ""
    }

    /// ``rawCode``, and after a colon what the details add: Apple's reason, the fields, or the quota. Such as
    /// `INVALID_ARGUMENT: message.android.ttl`.
    var rawError: String {
        let fields = violatedFields.isEmpty ? nil : violatedFields.prefix(3).joined(separator: ", ")
        return [rawCode, apnsReason ?? fields ?? quota ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
    }

    /// Whether the details prove that the token or fid is at fault, not the message it was sent with.
    var provesBadRecipient: Bool {
        if violatedFields.contains(where: { $0 == "message.token" || $0 == "message.fid" }) { return true }
        let text = "The registration token is not a valid FCM registration token"
        return message == text || message == text + "."
    }

    private mutating func read(_ detail: JSONObject) {
        guard let type = detail["@type"]?.string?.split(separator: "/").last else { return }
        switch type {
        case "google.firebase.fcm.v1.FcmError":
            guard fcmCode == nil, let code = detail["errorCode"]?.string, code != "UNSPECIFIED_ERROR" else { return }
            fcmCode = code
        case "google.firebase.fcm.v1.ApnsError":
            apnsReason = apnsReason ?? detail["reason"]?.string
            guard let code = detail["statusCode"] else { return }
            apnsStatus = apnsStatus ?? code.number?.wholeInt64 ?? code.string.flatMap { Int64($0) }
        case "google.rpc.ErrorInfo":
            if let reason = detail["reason"]?.string { reasons.append(reason) }
            let facts = detail["metadata"]?.object
            quota = quota ?? facts?["quota_limit"]?.string ?? facts?["quota_metric"]?.string
        case "google.rpc.QuotaFailure":
            hasQuotaFailure = true
            let violation = detail["violations"]?.array?.first?.object
            let names = ["quotaId", "quotaMetric", "description"].lazy.compactMap { violation?[$0]?.string }
            quota = quota ?? names.first
        case "google.rpc.RetryInfo":
            retryDelay = retryDelay.joined(with: RetryAfterParser.read(duration: detail["retryDelay"]?.string ?? ""))
        case "google.rpc.BadRequest":
            for violation in detail["fieldViolations"]?.array ?? [] {
                if let field = violation.object?["field"]?.string { violatedFields.append(field) }
            }
        default:
            break
        }
    }
}
