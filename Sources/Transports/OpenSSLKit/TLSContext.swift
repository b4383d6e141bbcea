internal import COpenSSL

/// Files of a TLS client. Paths, not contents: they are read once, when the context is made.
public struct TLSFiles: Equatable, Sendable {
    /// PEM file of authorities trusted besides the system's.
    public var caFile: String?
    /// PEM file of the client's certificate chain; needs ``keyFile``.
    public var certFile: String?
    public var keyFile: String?

    public init(caFile: String? = nil, certFile: String? = nil, keyFile: String? = nil) {
        self.caFile = caFile
        self.certFile = certFile
        self.keyFile = keyFile
    }
}

/// Settings that all TLS sessions of one configuration share: authorities, client certificate, lowest version.
///
/// The peer is always verified and there is no switch for it. TLS 1.2 is the lowest version.
public final class TLSContext {
    let pointer: OpaquePointer

    public init(files: TLSFiles) throws(OpenSSLError) {
        OpenSSLLibrary.keepUntilExit()
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw OpenSSLError.dequeue("create TLS context") }
        do throws(OpenSSLError) {
            try Self.configure(context, files)
        } catch {
            SSL_CTX_free(context)
            throw error
        }
        pointer = context
    }

    deinit { SSL_CTX_free(pointer) }

    private static func configure(_ context: OpaquePointer, _ files: TLSFiles) throws(OpenSSLError) {
        guard copenssl_require_tls12(context) == 1 else { throw OpenSSLError.dequeue("require TLS 1.2") }
        copenssl_refuse_renegotiation(context)
        copenssl_release_idle_buffers(context)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        // Not SSL_CTX_set_default_verify_paths: it obeys SSL_CERT_FILE and SSL_CERT_DIR from the environment.
        // A machine without a system store is no error, the private authority may be all there is.
        let folder = X509_get_default_cert_dir().map { String(cString: $0) } ?? ""
        if CertificateFolder.isHashed(folder) {
            _ = SSL_CTX_load_verify_locations(context, nil, folder)
        } else {
            _ = SSL_CTX_load_verify_locations(context, X509_get_default_cert_file(), nil)
        }
        ERR_clear_error()
        if let file = files.caFile {
            guard SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
                throw OpenSSLError.dequeue("read the CA file")
            }
        }
        guard let certificate = files.certFile, let key = files.keyFile else {
            guard files.certFile == nil, files.keyFile == nil else {
                throw OpenSSLError("client certificate", reason: "certificate and key come together")
            }
            return
        }
        SSL_CTX_set_default_passwd_cb(context, refusePassphrase)
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            throw OpenSSLError.dequeue("read the client certificate")
        }
        guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
            throw OpenSSLError.dequeue("read the client key")
        }
    }
}
