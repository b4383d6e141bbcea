internal import FanfareJSON

/// Checks a service account file, above all the host that the worker would send a signed assertion to.
enum ServiceAccountCheck {
    /// Why the file is refused; nil if it is valid. Of its values only the host of `token_uri` is repeated.
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
