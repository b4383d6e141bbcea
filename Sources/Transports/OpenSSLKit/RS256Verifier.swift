internal import COpenSSL

/// Verifies the signatures of ``RS256Signer`` with a public key.
///
/// May be used from any thread.
public final class RS256Verifier: @unchecked Sendable {
    // Unchecked: as for RS256Signer.
    private let key: OpaquePointer

    /// - Parameter publicKeyPEM: a SubjectPublicKeyInfo of an RSA key of 2,048 to 16,384 bits.
    public init(publicKeyPEM: String) throws(OpenSSLError) {
        ERR_clear_error()
        guard
            let loaded = MemoryBIO.read(
                Array(publicKeyPEM.utf8),
                { PEM_read_bio_PUBKEY($0, nil, refusePassphrase, nil) }
            )
        else { throw OpenSSLError.dequeue("read public key") }
        if let reason = Self.fault(of: loaded) {
            EVP_PKEY_free(loaded)
            throw OpenSSLError("read public key", reason: reason)
        }
        key = loaded
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether `signature` is this key's signature of `bytes`. A malformed signature is not.
    public func isValid(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        Self.isValid(signature, of: bytes, key: key)
    }

    static func isValid(_ signature: [UInt8], of bytes: [UInt8], key: OpaquePointer) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
    }

    /// Why a key is not used; nil for a fit one.
    static func fault(of key: OpaquePointer) -> String? {
        if EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA { return "not an RSA key" }
        if EVP_PKEY_get_bits(key) < 2_048 { return "shorter than 2048 bits" }
        return EVP_PKEY_get_bits(key) > 16_384 ? "longer than 16384 bits" : nil
    }
}
