internal import COpenSSL

/// A private certificate authority that issues certificates for TLS servers. Its key is random, on the curve P-256, and
/// never leaves memory.
public final class CertificateAuthority {
    private let certificate: Certificate
    private let key: PrivateKey

    /// Makes an authority with a self-signed certificate.
    ///
    /// - Parameters:
    ///   - commonName: at most 64 characters. Clients that trust several authorities need a different name for each.
    ///   - organization: at most 64 characters.
    ///   - days: how long its certificate is valid, 1 or more.
    public init(commonName: String, organization: String, days: Int32) throws(OpenSSLError) {
        key = try PrivateKey()
        certificate = try Certificate(subject: [("O", organization), ("CN", commonName)], key: key, days: days)
        try certificate.sign(
            issuer: certificate,
            key: key,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ]
        )
    }

    /// The authority's certificate, for its clients.
    public func certificatePEM() throws(OpenSSLError) -> String { try certificate.pem() }

    /// Issues a certificate for a TLS server, with a new key.
    ///
    /// - Parameters:
    ///   - commonName: at most 64 characters. Clients check `names` and `addresses` instead.
    ///   - names: DNS names of the server.
    ///   - addresses: IPv4 and IPv6 addresses of the server.
    ///   - days: how long the certificate is valid, 1 or more.
    /// - Throws: also for a name or address that contains anything but ASCII letters, digits and `.-:*`.
    public func issue(
        commonName: String,
        names: [String],
        addresses: [String],
        days: Int32
    ) throws(OpenSSLError) -> ServerIdentity {
        let hosts = names.map { ("DNS", $0) } + addresses.map { ("IP", $0) }
        // Other characters separate entries, or have OpenSSL read a file.
        guard hosts.allSatisfy({ $0.1.utf8.allSatisfy(Self.isHostByte) }) else {
            throw OpenSSLError("issue certificate", reason: "not a host name or address")
        }
        let serverKey = try PrivateKey()
        let issued = try Certificate(subject: [("CN", commonName)], key: serverKey, days: days)
        try issued.sign(
            issuer: certificate,
            key: key,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_alt_name, hosts.map { "\($0.0):\($0.1)" }.joined(separator: ",")),
                (NID_authority_key_identifier, "keyid:always"),
                (NID_subject_key_identifier, "hash"),
            ]
        )
        return ServerIdentity(certificatePEM: try issued.pem(), keyPEM: try serverKey.pem())
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: ".-:*".utf8.contains(byte)
        }
    }
}

/// The certificate of a TLS server, and its private key.
public struct ServerIdentity: Equatable, Sendable {
    public var certificatePEM: String
    /// Unencrypted PKCS#8 in PEM. It is a secret.
    public var keyPEM: String

    public init(certificatePEM: String, keyPEM: String) {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
    }

    /// Whether the authority signed the certificate, and the certificate is valid for at least `days` more. False for
    /// texts that are no certificates.
    public func isUsable(authorityPEM: String, days: Int) -> Bool {
        guard let authority = try? Certificate(pem: authorityPEM),
            let certificate = try? Certificate(pem: certificatePEM)
        else { return false }
        return certificate.isIssued(by: authority) && certificate.remainingDays >= days
    }
}
