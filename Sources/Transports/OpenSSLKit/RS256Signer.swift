internal import COpenSSL

/// Signs with RSASSA-PKCS1-v1_5 and SHA-256, the `RS256` of RFC 7518: what a service account's JWT carries.
///
/// May be used from any thread.
public final class RS256Signer: @unchecked Sendable {
    // Unchecked: the key is never changed after init, OpenSSL counts its references atomically, and every signature
    // has a context of its own.
    private let key: OpaquePointer

    /// - Parameter pem: an unencrypted RSA private key of at least 2048 bits, PKCS#8 or PKCS#1.
    public init(pem: [UInt8]) throws(OpenSSLError) {
        key = try Self.load(pem)
    }

    deinit { EVP_PKEY_free(key) }

    /// Size of the key, which is the size of a signature, in bits.
    public var bits: Int { Int(EVP_PKEY_get_bits(key)) }

    /// The signature of `bytes`, big-endian, as long as the key's modulus.
    public func sign(_ bytes: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        ERR_clear_error()
        guard let context = EVP_MD_CTX_new() else { throw OpenSSLError.dequeue("sign") }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else { throw OpenSSLError.dequeue("sign") }
        var length = Int(EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &signature, &length, bytes, bytes.count) == 1 else {
            throw OpenSSLError.dequeue("sign")
        }
        signature.removeLast(signature.count - length)
        return signature
    }

    private static func load(_ pem: [UInt8]) throws(OpenSSLError) -> OpaquePointer {
        ERR_clear_error()
        guard pem.count <= 65_536 else { throw OpenSSLError("read private key", reason: "larger than 65536 bytes") }
        let loaded: OpaquePointer? = pem.withUnsafeBytes { buffer in
            // Read-only over our own bytes: no second copy of the key that would outlive this call.
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { BIO_free(bio) }
            return PEM_read_bio_PrivateKey(bio, nil, refusePassphrase, nil)
        }
        guard let loaded else { throw OpenSSLError.dequeue("read private key") }
        var reason: String?
        if EVP_PKEY_get_base_id(loaded) != EVP_PKEY_RSA {
            reason = "not an RSA key"
        } else if EVP_PKEY_get_bits(loaded) < 2048 {
            reason = "shorter than 2048 bits"
        }
        if let reason {
            EVP_PKEY_free(loaded)
            throw OpenSSLError("read private key", reason: reason)
        }
        return loaded
    }
}

/// Without it OpenSSL would ask for a passphrase on the terminal, and a worker would wait there for ever.
func refusePassphrase(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int32,
    _ writing: Int32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }
