internal import COpenSSL

/// Settings that all TLS sessions of one server share: its certificate and the protocols that it speaks.
///
/// Clients are not asked for a certificate. TLS 1.2 is the lowest version.
// Unchecked, because the pointers are not Sendable: nothing is changed after `init`, and OpenSSL guards a context's
// reference count and session cache itself, so that threads may make sessions of it at once.
public final class TLSServerContext: @unchecked Sendable {
    let pointer: OpaquePointer
    private let protocols: UnsafeMutableBufferPointer<UInt8>

    /// - Parameters:
    ///   - identity: the certificates after its first one are sent, too, for clients that trust only the last one's
    ///     issuer.
    ///   - protocols: names for ALPN, most wanted first, of 1 to 255 bytes each; none to ignore what clients offer.
    public init(identity: ServerIdentity, protocols: [String] = []) throws(OpenSSLError) {
        precondition(protocols.allSatisfy { (1...255).contains($0.utf8.count) }, "a protocol's name has 1 to 255 bytes")
        OpenSSLLibrary.keepUntilExit()
        ERR_clear_error()
        let certificate = try Certificate(pem: identity.certificatePEM)
        let key = try PrivateKey(pem: identity.keyPEM)
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw OpenSSLError.dequeue("create TLS context") }
        guard copenssl_require_tls12(context) == 1, SSL_CTX_use_certificate(context, certificate.pointer) == 1,
            SSL_CTX_use_PrivateKey(context, key.pointer) == 1, SSL_CTX_check_private_key(context) == 1
        else {
            defer { SSL_CTX_free(context) }
            throw OpenSSLError.dequeue("use the server's certificate")
        }
        for issuer in Certificate.all(pem: identity.certificatePEM).dropFirst() {
            guard SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(issuer.pointer)) == 1 else {
                defer { SSL_CTX_free(context) }
                throw OpenSSLError.dequeue("use the certificate's chain")
            }
        }
        copenssl_refuse_renegotiation(context)
        copenssl_release_idle_buffers(context)
        let list: [UInt8] = protocols.flatMap { name -> [UInt8] in [UInt8(name.utf8.count)] + Array(name.utf8) } + [0]
        self.protocols = .allocate(capacity: list.count)
        _ = self.protocols.initialize(fromContentsOf: list)
        pointer = context
        if !protocols.isEmpty {
            SSL_CTX_set_alpn_select_cb(context, copenssl_select_protocol, self.protocols.baseAddress)
        }
    }

    deinit {
        SSL_CTX_free(pointer)
        protocols.deallocate()
    }
}
