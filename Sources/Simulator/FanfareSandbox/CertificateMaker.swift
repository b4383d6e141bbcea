import OpenSSLKit

/// A private authority and one server certificate signed by it.
struct ServerCertificate: Sendable {
    var authorityPEM: String
    var server: ServerIdentity

    /// The names under which clients reach the sandbox.
    static let hostNames = [
        "localhost", "fcm.googleapis.com", "iid.googleapis.com", "oauth2.googleapis.com", "gcm.googleapis.com",
        "fcm-xmpp.googleapis.com",
    ]

    /// Returns the certificate of an earlier start, which clients may trust already, or makes a new one. The
    /// authority's key signs once and is never stored.
    static func loadOrMake(in directory: StateDirectory) throws -> ServerCertificate {
        if let authority = directory.read("ca.pem"), let certificate = directory.read("tls-cert.pem"),
            let key = directory.read("tls-key.pem")
        {
            let server = ServerIdentity(certificatePEM: certificate, keyPEM: key)
            if server.isUsable(authorityPEM: authority, days: 1) {
                return ServerCertificate(authorityPEM: authority, server: server)
            }
        }
        let made = try make()
        try directory.write("tls-key.pem", made.server.keyPEM)
        try directory.write("tls-cert.pem", made.server.certificatePEM)
        try directory.write("ca.pem", made.authorityPEM)
        return made
    }

    static func make() throws -> ServerCertificate {
        // A unique name: a client that trusts several sandboxes must not confuse their authorities.
        let serial = String(UInt32.random(in: .min ... .max), radix: 16)
        let authority = try CertificateAuthority(
            commonName: "Fanfare sandbox authority \(serial)",
            organization: "Fanfare",
            days: 730
        )
        let server = try authority.issue(
            commonName: "Fanfare sandbox",
            names: hostNames,
            addresses: ["127.0.0.1", "::1"],
            days: 365
        )
        return ServerCertificate(authorityPEM: try authority.certificatePEM(), server: server)
    }
}
