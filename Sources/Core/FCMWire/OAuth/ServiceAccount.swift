public import FanfareModel

/// A service account with its private key: the fields of its file that are needed to ask for access tokens.
public struct ServiceAccount: Equatable, Sendable {
    /// The project that the file names; a service account may send for others too.
    public let projectID: String?
    public let privateKeyID: String?
    /// PEM, PKCS#8.
    public let privateKey: [UInt8]
    public let clientEmail: String
    /// Endpoint of access tokens: an absolute http or https URL. The configuration decides which hosts are allowed.
    public let tokenURI: String

    /// Reads the file that Google's console hands out.
    init(_ fields: CredentialFields) throws(CredentialError) {
        let key = try fields.text("private_key")
        guard key.hasPrefix("-----BEGIN ") else {
            throw fields.error("private_key", "must be a PEM text that starts with -----BEGIN")
        }
        tokenURI = try fields.url("token_uri")
        projectID = try fields.projectID("project_id")
        privateKeyID = try fields.optionalText("private_key_id")
        privateKey = Array(key.utf8)
        clientEmail = try fields.text("client_email")
    }
}

/// The key must not reach a log by way of an interpolated value.
extension ServiceAccount: Redacted {
    public var description: String { "service account \(clientEmail)" }
}
