/// Reads the form-encoded variant of a legacy send: one token, string values.
enum PlainTextRequest {
    static func read(_ body: [UInt8]) -> Result<LegacySend, LegacyRefusal> {
        func refuse(_ code: String) -> Result<LegacySend, LegacyRefusal> {
            .failure(.code(code, recipients: 1, isPlainText: true, observed: "Error=" + code))
        }
        guard let pairs = FormText.pairs(body) else { return refuse("InvalidParameters") }
        var token: String?
        var collapseKey: String?
        var lifetime: Int64?
        var package: String?
        var dryRun = false
        var size = 0
        for (name, value) in pairs {
            switch name {
            case "registration_id":
                guard token == nil else { return refuse("InvalidParameters") }
                token = value
            case "collapse_key": collapseKey = value
            case "delay_while_idle": break
            case "time_to_live":
                lifetime = Int64(value)
                if !LegacyRules.isTTL(lifetime) { return refuse("InvalidTtl") }
            case "restricted_package_name": package = value.isEmpty ? nil : value
            case "dry_run": dryRun = value == "true" || value == "1"
            default:
                guard name.hasPrefix("data.") else { return refuse("InvalidParameters") }
                let key = name.dropFirst("data.".count)
                if V1Rules.isReserved(String(key)) { return refuse("InvalidDataKey") }
                size += key.utf8.count + value.utf8.count
            }
        }
        guard let token, !token.isEmpty else { return refuse("MissingRegistration") }
        guard size <= 4_096 else { return refuse("MessageTooBig") }
        let traits = LegacyOptions.plainText(
            collapseKey: collapseKey,
            lifetimeSeconds: lifetime,
            restrictedPackage: package
        )
        return .success(
            LegacySend(target: .single(token), dryRun: dryRun, traits: traits, isPlainText: true, body: body)
        )
    }
}
