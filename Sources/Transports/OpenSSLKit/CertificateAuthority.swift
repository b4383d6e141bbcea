internal import COpenSSL

/// A private certificate authority that issues certificates for TLS servers. Its key is random, on the curve P-256.
public final class CertificateAuthority {
    private let certificate: Certificate
    private let key: PrivateKey

    /// Makes an authority with a self-signed certificate.
    ///
    /// - Parameters:
    ///   - commonName: at most 64 characters. Clients that trust several authorities need a different name for each.
    ///   - organization: at most 64 characters.
    ///   - days: how long its certificate is valid, 1 or more.
    ///   - hosts: the only names and addresses for which clients accept its certificates (RFC 5280, section 4.2.1.10);
    ///     nil for any.
    public init(commonName: String, organization: String, days: Int32, hosts: Hosts? = nil) throws(OpenSSLError) {
        var extensions: [(nid: Int32, value: String)] = [
            (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
            (NID_key_usage, "critical,keyCertSign,cRLSign"),
            (NID_subject_key_identifier, "hash"),
        ]
        if let hosts {
            extensions.append((NID_name_constraints, try hosts.constraints()))
            extensions.append((NID_ext_key_usage, "serverAuth"))
        }
        key = try PrivateKey()
        certificate = try Certificate(subject: [("O", organization), ("CN", commonName)], key: key, days: days)
        try certificate.sign(issuer: certificate, key: key, extensions: extensions)
    }

    /// The authority's key as unencrypted PKCS#8 in PEM. It is a secret.
    public func keyPEM() throws(OpenSSLError) -> String { try key.pem() }

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
        let alternatives = try Hosts(names: names, addresses: addresses).alternatives()
        let serverKey = try PrivateKey()
        let issued = try Certificate(subject: [("CN", commonName)], key: serverKey, days: days)
        try issued.sign(
            issuer: certificate,
            key: key,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_alt_name, alternatives),
                (NID_authority_key_identifier, "keyid:always"),
                (NID_subject_key_identifier, "hash"),
            ]
        )
        return ServerIdentity(certificatePEM: try issued.pem(), keyPEM: try serverKey.pem())
    }

    /// Names and addresses of a server.
    public struct Hosts: Equatable, Sendable {
        /// DNS names.
        public var names: [String]
        /// IPv4 and IPv6 addresses.
        public var addresses: [String]

        public init(names: [String], addresses: [String] = []) { (self.names, self.addresses) = (names, addresses) }

        func alternatives() throws(OpenSSLError) -> String {
            try check()
            return (names.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }).joined(separator: ",")
        }

        /// A kind of name without a constraint is free, so addresses are excluded where none is permitted.
        func constraints() throws(OpenSSLError) -> String {
            try check()
            var parts = names.map { "permitted;DNS:\($0)" }
            let (four, six) = (addresses.filter { !$0.contains(":") }, addresses.filter { $0.contains(":") })
            parts += four.map { "permitted;IP:\($0)/255.255.255.255" }
            parts += six.map { "permitted;IP:\($0)/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" }
            if four.isEmpty { parts.append("excluded;IP:0.0.0.0/0.0.0.0") }
            if six.isEmpty { parts.append("excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0") }
            return "critical," + parts.joined(separator: ",")
        }

        /// Other characters separate entries, or have OpenSSL read a file.
        private func check() throws(OpenSSLError) {
            guard (names + addresses).allSatisfy({ $0.utf8.allSatisfy(Self.isHostByte) }) else {
                throw OpenSSLError("issue certificate", reason: "not a host name or address")
            }
        }

        private static func isHostByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: ".-:*".utf8.contains(byte)
            }
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
