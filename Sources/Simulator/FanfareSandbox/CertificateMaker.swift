import Crypto
import Foundation
import SwiftASN1
import X509

/// A private authority and one server certificate signed by it.
struct ServerCertificate: Sendable {
    var authorityPEM: String
    var certificatePEM: String
    var keyPEM: String

    /// The names under which clients reach the sandbox.
    static let hostNames = [
        "localhost", "fcm.googleapis.com", "iid.googleapis.com", "oauth2.googleapis.com", "gcm.googleapis.com",
        "fcm-xmpp.googleapis.com",
    ]

    /// Returns the certificate of an earlier start, which clients may trust already, or makes a new one. The
    /// authority's key signs once and is never stored.
    static func loadOrMake(in directory: StateDirectory) throws -> ServerCertificate {
        if let authority = directory.read("ca.pem"), let certificate = directory.read("tls-cert.pem"),
            let key = directory.read("tls-key.pem"), fits(authority, certificate)
        {
            return ServerCertificate(authorityPEM: authority, certificatePEM: certificate, keyPEM: key)
        }
        let made = try make()
        try directory.write("tls-key.pem", made.keyPEM)
        try directory.write("tls-cert.pem", made.certificatePEM)
        try directory.write("ca.pem", made.authorityPEM)
        return made
    }

    private static func fits(_ authority: String, _ certificate: String) -> Bool {
        guard let issuer = try? Certificate(pemEncoded: authority), let leaf = try? Certificate(pemEncoded: certificate)
        else { return false }
        return issuer.publicKey.isValidSignature(leaf.signature, for: leaf)
            && leaf.notValidAfter > Date().addingTimeInterval(86_400)
    }

    static func make() throws -> ServerCertificate {
        let authorityKey = Certificate.PrivateKey(P256.Signing.PrivateKey())
        // A unique name: a client that trusts several sandboxes must not confuse their authorities.
        let serial = String(UInt32.random(in: .min ... .max), radix: 16)
        let authorityName = try DistinguishedName {
            OrganizationName("Fanfare")
            CommonName("Fanfare sandbox authority \(serial)")
        }
        let from = Date().addingTimeInterval(-3_600)
        let authority = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: authorityKey.publicKey,
            notValidBefore: from,
            notValidAfter: from.addingTimeInterval(730 * 86_400),
            issuer: authorityName,
            subject: authorityName,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: authorityKey.publicKey)
            },
            issuerPrivateKey: authorityKey
        )
        let key = P256.Signing.PrivateKey()
        let publicKey = Certificate.PrivateKey(key).publicKey
        let leaf = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: publicKey,
            notValidBefore: from,
            notValidAfter: from.addingTimeInterval(365 * 86_400),
            issuer: authorityName,
            subject: try DistinguishedName { CommonName("Fanfare sandbox") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(names)
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(hash: authorityKey.publicKey).keyIdentifier
                )
                SubjectKeyIdentifier(hash: publicKey)
            },
            issuerPrivateKey: authorityKey
        )
        return ServerCertificate(
            authorityPEM: try authority.serializeAsPEM().pemString + "\n",
            certificatePEM: try leaf.serializeAsPEM().pemString + "\n",
            keyPEM: key.pemRepresentation + "\n"
        )
    }

    private static var names: [GeneralName] {
        let loopback4 = ASN1OctetString(contentBytes: [127, 0, 0, 1])
        let loopback6 = ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        return hostNames.map { .dnsName($0) } + [.ipAddress(loopback4), .ipAddress(loopback6)]
    }
}
