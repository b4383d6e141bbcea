/// A short name of a credential that says nothing about its secret: the first eight bytes of a SHA-256. Redis keeps the
/// fingerprints of credentials that had an accepted send.
public enum CredentialFingerprint {
    /// Another key of the same identity is another credential.
    public static func of(_ credential: Credential) -> UInt64 {
        var parts = ["\(credential)", credential.kind.rawValue, credential.quotaProjectID ?? ""]
        switch credential {
        case .serviceAccount(let account): parts.append(account.privateKeyID ?? "\(hash(account.privateKey))")
        case .authorizedUser(let user): parts.append(user.client.id)
        case .externalAccount, .impersonated, .metadata: break
        }
        return hash(Array(parts.joined(separator: "\n").utf8))
    }

    public static func of(serverKey: String) -> UInt64 { hash(Array("server key\n\(serverKey)".utf8)) }

    /// Never 0, which stands for no credential.
    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        let words = SHA256.hash(bytes)
        return max(1, UInt64(words[0]) << 32 | UInt64(words[1]))
    }
}
