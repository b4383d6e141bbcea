internal import FanfareJSON

/// `delivery=replace`: a message that shows a notification gets names derived from the job id, so that a duplicate
/// replaces the first on the device. A name that the message has already stays.
enum ReplaceMarks {
    static func addV1(to message: inout JSONObject, jobID: String) {
        let mark = JSONValue.string(NameDigest.name32(jobID))
        let showsEverywhere = message.proto("notification")?.object.map { !$0.isEmpty } ?? false

        let isV2 = message.proto("androidV2") != nil
        let android = isV2 ? ["androidV2", "remoteNotification", "notification"] : ["android", "notification"]
        // Under androidV2 the message kind decides: a background sync shows nothing and must stay one.
        let mayShow = !isV2 || message.value(at: ["androidV2", "remoteNotification"]) != nil
        if mayShow, showsEverywhere || message.value(at: android) != nil,
            (message.value(at: android + ["tag"])?.string ?? "").isEmpty
        {
            message.set(android + ["tag"], to: mark)
        }

        let isLiveActivity = message.value(at: ["apns", "liveActivityToken"]) != nil
        let showsOnApple = showsEverywhere || message.value(at: ["apns", "payload", "aps", "alert"]) != nil
        if showsOnApple, !isLiveActivity, message.header("apns-collapse-id", of: "apns") == nil {
            message.set(["apns", "headers", "apns-collapse-id"], to: mark)
        }

        let showsOnWeb = showsEverywhere || message.value(at: ["webpush", "notification"]) != nil
        if showsOnWeb, message.header("Topic", of: "webpush") == nil {
            message.set(["webpush", "headers", "Topic"], to: mark)
        }
    }

    /// In legacy, `collapse_key` is what becomes `apns-collapse-id` and `Topic`; Android ignores it for notifications.
    static func addLegacy(to message: inout JSONObject, jobID: String) {
        guard let notification = message["notification"]?.object, !notification.isEmpty else { return }
        let mark = JSONValue.string(NameDigest.name32(jobID))
        if (notification["tag"]?.string ?? "").isEmpty { message.set(["notification", "tag"], to: mark) }
        if (message["collapse_key"]?.string ?? "").isEmpty { message["collapse_key"] = mark }
    }
}
