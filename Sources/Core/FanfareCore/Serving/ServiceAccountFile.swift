public import FanfareJSON
public import FanfareModel

/// The file of a service account that Google's libraries read, for a key of the gateway: they log in at the gateway's
/// `POST /token` with it.
public struct ServiceAccountFile: Sendable, Redacted {
    /// The name of the key.
    public var name: String
    /// The SDKs send to it unless they are told another one.
    public var project: String
    /// PKCS#8 in PEM. It is a secret.
    public var privateKeyPEM: String
    /// 40 hexadecimal digits.
    public var keyID: String
    /// How clients reach the gateway, such as `https://push.example.com:8443`.
    public var origin: String

    public init(name: String, project: String, privateKeyPEM: String, keyID: String, origin: String) {
        (self.name, self.project, self.privateKeyPEM) = (name, project, privateKeyPEM)
        (self.keyID, self.origin) = (keyID, origin)
    }

    public var description: String { "[service account \(name)]" }

    public var json: JSONObject {
        let email = GatewayKey.email(ofAccount: name)
        return [
            "type": "service_account", "project_id": .string(project), "private_key_id": .string(keyID),
            "private_key": .string(privateKeyPEM), "client_email": .string(email),
            // Google's has 21 digits; no library reads it.
            "client_id": "100000000000000000000", "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": .string("\(origin)/token"),
            "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
            "client_x509_cert_url": .string(
                "https://www.googleapis.com/robot/v1/metadata/x509/\(email.replacing("@", with: "%40"))"
            ),
            "universe_domain": "googleapis.com",
        ]
    }

    /// The origin of a URL; nil unless it is `https://HOST[:PORT]`, or the same with `http` for this machine.
    public static func origin(of url: String) -> String? {
        let text = url.hasSuffix("/") ? String(url.dropLast()) : url
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
        let authority = text.dropFirst(scheme.count)
        let host: Substring
        var port: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[...end]
            let rest = authority[authority.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
            guard NetworkAddress(host.dropFirst().dropLast()) != nil else { return nil }
        } else {
            let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            (host, port) = (parts[0], parts.count > 1 ? parts[1] : nil)
            let isName = host.utf8.allSatisfy { byte in
                byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            }
            guard !host.isEmpty, isName else { return nil }
        }
        if let port { guard let number = UInt16(port), number > 0 else { return nil } }
        guard scheme == "https://" || Loopback.names(host) else { return nil }
        return text
    }
}
