import FanfareJSON

/// Reads the delivery options of a legacy message: one set of fields, which each platform reads in its own way.
enum LegacyOptions {
    static func traits(of object: JSONObject, isForTopics: Bool) -> MessageTraits {
        let shown = object["notification"]?.object
        var options = DeliveryOptions()
        options.isNotification = shown != nil
        switch object["priority"]?.string {
        case "high": options.priority = .high
        case "normal": options.priority = .normal
        default: options.priority = options.isNotification ? .high : .normal
        }
        if let seconds = object["time_to_live"]?.number?.int64 { options.lifetime = .span(seconds * 1_000) }
        options.collapse = .init(key: object["collapse_key"]?.string)
        var traits = MessageTraits(
            restrictedPackage: object["restricted_package_name"]?.nonEmptyString,
            android: options,
            apple: options,
            web: options
        )
        traits.apple.isSilent = ["title", "body", "title_loc_key", "body_loc_key", "badge", "sound"]
            .allSatisfy { shown?[$0] == nil }
        if options.isNotification {
            // Android ignores the key of a notification; Apple and the web have it as a header.
            traits.android.collapse = .underPackage
        } else if isForTopics, object["data"]?.object?.isEmpty != false, options.collapse == .never {
            traits.android.collapse = .underPackage
        }
        return traits
    }
}
