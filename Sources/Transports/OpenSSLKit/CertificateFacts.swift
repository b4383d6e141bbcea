internal import COpenSSL

/// What a certificate says of itself: its names and the times of its validity.
public struct CertificateFacts: Equatable, Sendable {
    /// Of hosts, and addresses, as the extension `subjectAltName` lists them.
    public let names: [String]
    /// Unix seconds.
    public let notBefore: Int64
    public let notAfter: Int64

    /// - Parameter pem: its first certificate is read.
    public init(pem: String) throws(OpenSSLError) {
        let certificate = try Certificate(pem: pem)
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let start = Self.seconds(X509_get0_notBefore(certificate.pointer)),
            let end = Self.seconds(X509_get0_notAfter(certificate.pointer))
        else { throw OpenSSLError.dequeue("read the times of a certificate") }
        (notBefore, notAfter) = (start, end)
        names = Self.names(certificate)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
        defer { ASN1_TIME_free(epoch) }
        var (days, seconds) = (Int32(0), Int32(0))
        guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    private static func names(_ certificate: Certificate) -> [String] {
        let index = X509_get_ext_by_NID(certificate.pointer, NID_subject_alt_name, -1)
        guard index >= 0, let found = X509_get_ext(certificate.pointer, index),
            // Such as `DNS:localhost, IP Address:127.0.0.1`.
            let text = MemoryBIO.text({ X509V3_EXT_print($0, found, 0, 0) })
        else { return [] }
        return text.split(separator: ",").compactMap { entry in
            let parts = entry.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].hasSuffix("DNS") || parts[0].hasSuffix("IP Address") else { return nil }
            return String(parts[1])
        }
    }
}
