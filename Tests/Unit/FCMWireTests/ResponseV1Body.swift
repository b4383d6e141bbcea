/// Google's error object and its details, as FCM writes them.
enum V1Body {
    static let fcm = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"%"}"#
    static let apns410 =
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.ApnsError","statusCode":410,"reason":"Unregistered"}"#
    static let apns403 =
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.ApnsError","statusCode":403,"reason":"InvalidProviderToken"}"#
    static let quota = #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"d"}]}"#
    static let help = #"{"@type":"type.googleapis.com/google.rpc.Help","links":[]}"#

    static func fcmError(_ code: String) -> String { fcm.replacing("%", with: code) }

    static func errorInfo(_ reason: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#(reason)","domain":"googleapis.com"}"#
    }

    static func apns(_ status: Int, _ reason: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.ApnsError","statusCode":\#(status),"reason":"\#(reason)"}"#
    }

    static func retryInfo(_ delay: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":\#(delay)}"#
    }

    static func badRequest(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    static func envelope(_ code: Int, _ status: String, _ message: String = "m", _ details: String...) -> String {
        #"{"error":{"code":\#(code),"message":"\#(message)","status":"\#(status)","details":["#
            + details.joined(separator: ",") + "]}}"
    }
}
