/// Reads the form-encoded variant of a legacy send: one token, string values.
enum PlainTextRequest {
    private static let booleans: [ExactText: Bool] = ["true": true, "1": true, "false": false, "0": false]

    static func read(_ body: [UInt8]) throws(LegacyRequestError) -> LegacySend {
        func error(_ code: String) -> LegacyRequestError {
            .code(code, recipients: 1, isPlainText: true, observed: "Error=" + code)
        }
        guard let pairs = FormText.pairs(body) else { throw error("InvalidParameters") }
        var token: String?
        var collapseKey: String?
        var lifetime: Int64?
        var package: String?
        var dryRun = false
        var size = 0
        for (name, value) in pairs {
            switch name {
            case "registration_id":
                guard token == nil else { throw error("InvalidParameters") }
                token = value
            case "collapse_key": collapseKey = value
            case "delay_while_idle": break
            case "time_to_live":
                lifetime = Int64(value)
                if !LegacyRules.isTTL(lifetime) { throw error("InvalidTtl") }
            case "restricted_package_name": package = value.isEmpty ? nil : value
            case "dry_run":
                guard let isTrial = booleans[value] else { throw error("InvalidParameters") }
                dryRun = isTrial
            default:
                guard name.hasPrefix("data.") else { throw error("InvalidParameters") }
                let key = name.dropFirst("data.".count)
                if V1Rules.isReserved(String(key)) { throw error("InvalidDataKey") }
                size += key.utf8.count + value.utf8.count
            }
        }
        guard let token, !token.isEmpty else { throw error("MissingRegistration") }
        guard size <= 4_096 else { throw error("MessageTooBig") }
        // The form-encoded variant has no priority and no notification.
        var options = DeliveryOptions()
        if let lifetime { options.lifetime = .span(lifetime * 1_000) }
        options.collapse = .init(key: collapseKey)
        var traits = MessageTraits(restrictedPackage: package, android: options, apple: options, web: options)
        traits.apple.isSilent = true
        return LegacySend(target: .single(token), dryRun: dryRun, traits: traits, isPlainText: true, body: body)
    }
}
