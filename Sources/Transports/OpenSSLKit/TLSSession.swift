internal import COpenSSL

/// One side of a TLS connection, without a socket: ciphertext goes in and out as bytes.
///
/// Order of use, after every ``feed(_:)``: ``handshake()`` until it returns true, then ``read(into:)`` until it returns
/// 0. After every call, send the bytes of ``removeOutgoing()``. Any thrown error ends the session; those bytes are then
/// an alert for the peer.
public final class TLSSession {
    private let session: OpaquePointer
    /// OpenSSL counts references to the context itself, but not to what its callbacks read.
    private let context: AnyObject
    // Both belong to the session, which frees them.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    /// The client's side.
    ///
    /// - Parameters:
    ///   - host: the name or address the peer's certificate must be for. A name is also sent as SNI.
    ///   - protocols: names offered by ALPN, most wanted first, of 1 to 255 bytes each; none to leave ALPN out.
    public convenience init(context: TLSContext, host: String, protocols: [String] = []) throws(OpenSSLError) {
        try self.init(context.pointer, of: context)
        SSL_set_connect_state(session)
        let list = protocols.flatMap { name in [UInt8(name.utf8.count)] + Array(name.utf8) }
        guard list.isEmpty || SSL_set_alpn_protos(session, list, UInt32(list.count)) == 0 else {
            throw OpenSSLError.dequeue("offer protocols")
        }
        guard !host.isEmpty, !host.utf8.contains(0) else { throw OpenSSLError("check host", reason: "not a host name") }
        SSL_set_hostflags(session, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) != 1 {
            ERR_clear_error()
            guard SSL_set1_host(session, host) == 1, copenssl_set_server_name(session, host) == 1 else {
                throw OpenSSLError.dequeue("check host")
            }
        }
    }

    /// The server's side.
    public convenience init(context: TLSServerContext) throws(OpenSSLError) {
        try self.init(context.pointer, of: context)
        SSL_set_accept_state(session)
    }

    private init(_ pointer: OpaquePointer, of context: AnyObject) throws(OpenSSLError) {
        ERR_clear_error()
        guard let session = SSL_new(pointer) else { throw OpenSSLError.dequeue("create TLS session") }
        let (incoming, outgoing) = (BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
        guard let incoming, let outgoing else {
            BIO_free(incoming)
            BIO_free(outgoing)
            SSL_free(session)
            throw OpenSSLError.dequeue("create TLS session")
        }
        SSL_set_bio(session, incoming, outgoing)
        self.context = context
        self.session = session
        self.incoming = incoming
        self.outgoing = outgoing
    }

    deinit { SSL_free(session) }

    /// Hands over ciphertext from the peer.
    public func feed(_ bytes: UnsafeRawBufferPointer) throws(OpenSSLError) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        var written = 0
        guard BIO_write_ex(incoming, start, bytes.count, &written) == 1, written == bytes.count else {
            throw OpenSSLError.dequeue("receive TLS data")
        }
    }

    /// Advances the handshake. True when it is complete; a client has verified the server then.
    public func handshake() throws(OpenSSLError) -> Bool {
        if SSL_is_init_finished(session) == 1 { return true }
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        if result == 1 { return true }
        let code = SSL_get_error(session, result)
        if code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE { return false }
        throw failure("TLS handshake")
    }

    /// The protocol that both sides agreed on by ALPN; nil without one, and before the handshake is complete.
    public var negotiatedProtocol: String? {
        var (name, length): (UnsafePointer<UInt8>?, UInt32) = (nil, 0)
        SSL_get0_alpn_selected(session, &name, &length)
        guard let name, length > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// Encrypts `bytes`. Only after ``handshake()`` returned true.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(OpenSSLError) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        ERR_clear_error()
        var written = 0
        // All or nothing: partial writes are off and a memory BIO is never full.
        guard SSL_write_ex(session, start, bytes.count, &written) == 1 else { throw failure("TLS write") }
    }

    /// Decrypts into `buffer`.
    ///
    /// - Returns: the number of bytes, 0 when there are none now, nil after the peer's close_notify.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(OpenSSLError) -> Int? {
        guard let start = buffer.baseAddress, !buffer.isEmpty else { return 0 }
        ERR_clear_error()
        var count = 0
        if SSL_read_ex(session, start, buffer.count, &count) == 1 { return count }
        switch SSL_get_error(session, 0) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return 0
        case SSL_ERROR_ZERO_RETURN: return nil
        default: throw failure("TLS read")
        }
    }

    /// Queues the close_notify; send ``removeOutgoing()`` after it.
    public func shutdown() {
        // Before the handshake is over OpenSSL counts this as an error, and no peer expects it.
        guard SSL_is_init_finished(session) == 1 else { return }
        _ = SSL_shutdown(session)
        ERR_clear_error()
    }

    /// Removes and returns the ciphertext for the peer.
    public func removeOutgoing() -> [UInt8] {
        var bytes: [UInt8] = []
        moveOutgoing(to: &bytes)
        return bytes
    }

    /// Moves the ciphertext for the peer to the end of `bytes`.
    public func moveOutgoing(to bytes: inout [UInt8]) {
        let pending = BIO_ctrl_pending(outgoing)
        guard pending > 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: pending, alignment: 16) { buffer in
            var count = 0
            guard BIO_read_ex(outgoing, buffer.baseAddress, pending, &count) == 1 else { return }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// The last failure; for a certificate with the result of the check, which names the reason.
    private func failure(_ action: String) -> OpenSSLError {
        // The newest error: a bad signature in the chain leaves its own in front of it.
        let verification = SSL_get_verify_result(session)
        guard copenssl_is_verification_failure(ERR_peek_last_error()) == 1, verification != 0,
            let text = X509_verify_cert_error_string(verification)
        else { return OpenSSLError.dequeue(action) }
        ERR_clear_error()
        return OpenSSLError(
            action,
            reason: "certificate verify failed: \(String(cString: text))",
            verifyResult: verification
        )
    }
}
