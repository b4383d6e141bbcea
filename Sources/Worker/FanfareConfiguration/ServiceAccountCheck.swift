internal import FanfareJSON

/// Looks at a service account file before a worker trusts it: above all at where it would send a signed assertion.
enum ServiceAccountCheck {
    /// Why the file is refused; nil when it is fine. Never repeats a value but the host of `token_uri`.
    static func refusal(of bytes: [UInt8], hosts: HostPolicy) -> String? {
        let value: JSONValue
        do {
            value = try JSONParser.parse(bytes, limits: JSONLimits(maxDepth: 8, maxBytes: 65_536))
        } catch {
            return "not JSON: \(error)"
        }
        guard let object = value.object else { return "must be a JSON object" }
        guard object["type"]?.string == "service_account" else { return "type: must be service_account" }
        for key in ["client_email", "private_key", "token_uri"] where (object[key]?.string ?? "").isEmpty {
            return "\(key): missing"
        }
        return object["token_uri"]?.string.flatMap { hosts.refusal(of: $0, allowsPath: true) }.map {
            "token_uri: \($0)"
        }
    }
}
