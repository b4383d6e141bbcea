internal import COpenSSL

/// An X.509 certificate in memory.
final class Certificate {
    let pointer: OpaquePointer

    /// A certificate of version 3 with a random serial number and without a signature.
    ///
    /// - Parameters:
    ///   - key: the subject's key; the certificate holds its public half.
    ///   - days: validity from now on. The certificate is also valid for the past hour: clocks differ.
    init(subject: [(field: String, value: String)], key: PrivateKey, days: Int32) throws(OpenSSLError) {
        ERR_clear_error()
        guard let certificate = X509_new() else { throw OpenSSLError.dequeue(Self.making) }
        pointer = certificate
        guard X509_set_version(certificate, Int(X509_VERSION_3)) == 1, X509_set_pubkey(certificate, key.pointer) == 1,
            X509_gmtime_adj(X509_getm_notBefore(certificate), -3_600) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), Int(days) * 86_400) != nil
        else { throw OpenSSLError.dequeue(Self.making) }
        try setSerialNumber()
        let name = X509_get_subject_name(certificate)
        for (field, value) in subject {
            let bytes = Array(value.utf8)
            guard let count = Int32(exactly: bytes.count),
                X509_NAME_add_entry_by_txt(name, field, Int32(MBSTRING_UTF8), bytes, count, -1, 0) == 1
            else { throw OpenSSLError.dequeue(Self.making) }
        }
    }

    /// - Parameter pem: the first certificate of this text is read.
    init(pem: String) throws(OpenSSLError) {
        ERR_clear_error()
        guard let read = MemoryBIO.read(Array(pem.utf8), { PEM_read_bio_X509($0, nil, refusePassphrase, nil) }) else {
            throw OpenSSLError.dequeue("read certificate")
        }
        pointer = read
    }

    private init(_ pointer: OpaquePointer) { self.pointer = pointer }

    /// All certificates of a text, in its order; empty for a text without one.
    static func all(pem: String) -> [Certificate] {
        defer { ERR_clear_error() }
        return MemoryBIO.read(Array(pem.utf8)) { bio in
            var all: [Certificate] = []
            while let read = PEM_read_bio_X509(bio, nil, refusePassphrase, nil) { all.append(Certificate(read)) }
            return all
        } ?? []
    }

    deinit { X509_free(pointer) }

    /// Adds extensions, which name the issuer's key, and signs.
    ///
    /// - Parameter extensions: values in the syntax of OpenSSL's `x509v3_config`.
    func sign(
        issuer: Certificate,
        key: PrivateKey,
        extensions: [(nid: Int32, value: String)]
    ) throws(OpenSSLError) {
        ERR_clear_error()
        guard X509_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1 else {
            throw OpenSSLError.dequeue(Self.making)
        }
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer.pointer, pointer, nil, nil, 0)
        for (nid, value) in extensions {
            guard let made = X509V3_EXT_nconf_nid(nil, &context, nid, value) else {
                throw OpenSSLError.dequeue(Self.making)
            }
            defer { X509_EXTENSION_free(made) }
            guard X509_add_ext(pointer, made, -1) == 1 else { throw OpenSSLError.dequeue(Self.making) }
        }
        guard X509_sign(pointer, key.pointer, EVP_sha256()) > 0 else { throw OpenSSLError.dequeue(Self.making) }
    }

    func pem() throws(OpenSSLError) -> String {
        ERR_clear_error()
        guard let text = MemoryBIO.text({ PEM_write_bio_X509($0, pointer) }) else {
            throw OpenSSLError.dequeue("write certificate")
        }
        return text
    }

    /// Whether `issuer` issued and signed this certificate.
    func isIssued(by issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_issued(issuer.pointer, pointer) == X509_V_OK
            && X509_verify(pointer, X509_get0_pubkey(issuer.pointer)) == 1
    }

    /// Whole days until the certificate expires, rounded towards 0; 0 or less if it has expired.
    var remainingDays: Int {
        var (days, seconds) = (Int32(0), Int32(0))
        defer { ERR_clear_error() }
        return ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(pointer)) == 1 ? Int(days) : 0
    }

    private func setSerialNumber() throws(OpenSSLError) {
        guard let number = BN_new() else { throw OpenSSLError.dequeue(Self.making) }
        defer { BN_free(number) }
        // Below 160 bits, so that it takes at most 20 bytes and is positive (RFC 5280, section 4.1.2.2).
        guard BN_rand(number, 159, Int32(BN_RAND_TOP_ONE), Int32(BN_RAND_BOTTOM_ANY)) == 1,
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)) != nil
        else { throw OpenSSLError.dequeue(Self.making) }
    }

    private static let making = "make certificate"
}

/// A private key; a new one is on the curve P-256.
final class PrivateKey {
    let pointer: OpaquePointer

    /// Makes a new random key.
    init() throws(OpenSSLError) {
        ERR_clear_error()
        guard let key = copenssl_generate_p256_key() else { throw OpenSSLError.dequeue("generate P-256 key") }
        pointer = key
    }

    /// - Parameter pem: an unencrypted key.
    init(pem: String) throws(OpenSSLError) {
        ERR_clear_error()
        guard let read = MemoryBIO.read(Array(pem.utf8), { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) })
        else { throw OpenSSLError.dequeue("read private key") }
        pointer = read
    }

    deinit { EVP_PKEY_free(pointer) }

    /// Unencrypted PKCS#8 in PEM. It is a secret.
    func pem() throws(OpenSSLError) -> String {
        ERR_clear_error()
        guard let text = MemoryBIO.text({ PEM_write_bio_PrivateKey($0, pointer, nil, nil, 0, nil, nil) }) else {
            throw OpenSSLError.dequeue("write private key")
        }
        return text
    }
}
