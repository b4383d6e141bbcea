internal import COpenSSL

/// Signs and verifies with RSASSA-PKCS1-v1_5 and SHA-256, the `RS256` of RFC 7518: what a service account's JWT carries.
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

    private init(key: OpaquePointer) { self.key = key }

    /// Makes a signer with a new random key of 2048 bits. Takes some 100 ms of CPU.
    public static func generate() throws(OpenSSLError) -> RS256Signer {
        ERR_clear_error()
        guard let key = copenssl_generate_rsa_key(2048) else { throw OpenSSLError.dequeue("generate RSA key") }
        return RS256Signer(key: key)
    }

    deinit { EVP_PKEY_free(key) }

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

    /// Whether `signature` is this key's signature of `bytes`. A malformed signature is not.
    public func isValid(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        RS256Verifier.isValid(signature, of: bytes, key: key)
    }

    /// The public key as SubjectPublicKeyInfo in PEM.
    public func publicKeyPEM() throws(OpenSSLError) -> String {
        ERR_clear_error()
        guard let text = MemoryBIO.text({ PEM_write_bio_PUBKEY($0, key) }) else {
            throw OpenSSLError.dequeue("write public key")
        }
        return text
    }

    /// The private key as unencrypted PKCS#8 in PEM. It is a secret.
    public func privateKeyPEM() throws(OpenSSLError) -> String {
        ERR_clear_error()
        guard let text = MemoryBIO.text({ PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }) else {
            throw OpenSSLError.dequeue("write private key")
        }
        return text
    }

    private static func load(_ pem: [UInt8]) throws(OpenSSLError) -> OpaquePointer {
        ERR_clear_error()
        guard pem.count <= 65_536 else { throw OpenSSLError("read private key", reason: "larger than 65536 bytes") }
        // Without a second copy of the key, which would outlive this call.
        guard let loaded = MemoryBIO.read(pem, { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }) else {
            throw OpenSSLError.dequeue("read private key")
        }
        if let reason = RS256Verifier.fault(of: loaded) {
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
