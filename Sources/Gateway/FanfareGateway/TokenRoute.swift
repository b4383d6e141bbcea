internal import FanfareCore
internal import FanfareHTTP
internal import NIOConcurrencyHelpers
internal import OpenSSLKit

/// `POST /token`, and the access tokens that requests show.
///
/// A signature is checked once, and outside of the gate's lock.
struct TokenRoute: Sendable {
    let gate: NIOLockedValueBox<KeyGate>
    let now: @Sendable () -> GateTime
    /// Whether `signature` is that of a public key, of the given bytes.
    let isSigned: @Sendable (_ key: PublicKeyText, _ signature: [UInt8], _ bytes: [UInt8]) -> Bool

    init(gate: NIOLockedValueBox<KeyGate>, _ inputs: GatewayInputs) {
        self.gate = gate
        now = { GateTime(nanoseconds: inputs.nowNs(), seconds: inputs.nowSeconds()) }
        isSigned = { key, signature, bytes in
            (try? RS256Verifier(publicKeyPEM: key.pem))?.isValid(signature, of: bytes) ?? false
        }
    }

    /// - Parameter address: of the client; nil where many clients share one.
    func answer(_ request: WebRequest, from address: String?) -> ServedAnswer {
        do throws(TokenGrant.Fault) {
            guard request.method == "POST" else { throw .method }
            guard !request.isBodyTooLarge else {
                throw .request("The request is too large: at most \(TokenGrant.maximumBytes) bytes.")
            }
            guard !request.isMemoryFull else { throw .unavailable(retryAfterMs: .random(in: 1_000...3_000)) }
            try judge { (gate: inout KeyGate) throws(TokenGrant.Fault) in
                try gate.checkGrants(from: address, now: now())
            }
            let text = try TokenGrant.assertion(in: request.body)
            try grant(text, from: address)
            return TokenGrant.answer(text)
        } catch {
            return error.answer
        }
    }

    private func grant(_ text: String, from address: String?) throws(TokenGrant.Fault) {
        guard let digest = KeyDigest(MessageDigest.sha256(Array(text.utf8))) else { throw .assertion(.key) }
        let assertion: AccessAssertion
        do throws(AssertionFault) { assertion = try AccessAssertion(text) } catch {
            gate.withLockedValue { $0.refuse(ShownKey(digest), from: address, now: now()) }
            throw .assertion(error)
        }
        let (shown, isSigned) = check(assertion, digest)
        try judge { (gate: inout KeyGate) throws(TokenGrant.Fault) in
            try gate.grant(assertion, isSigned: isSigned, shown: shown, from: address, now: now())
        }
    }

    private func judge(_ body: (inout KeyGate) throws(TokenGrant.Fault) -> Void) throws(TokenGrant.Fault) {
        let refusal: TokenGrant.Fault? = gate.withLockedValue { gate in
            do throws(TokenGrant.Fault) { try body(&gate) } catch { return error }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// What a request shows: of an assertion that no request has shown yet, the signature is checked here.
    func shown(_ key: Substring) -> ShownKey? {
        guard let digest = KeyDigest(MessageDigest.sha256(Array(key.utf8))) else { return nil }
        guard AccessAssertion.hasParts(key), !gate.withLockedValue({ $0.knows(digest) }),
            let assertion = try? AccessAssertion(key)
        else { return ShownKey(digest) }
        return check(assertion, digest).shown
    }

    private func check(_ assertion: AccessAssertion, _ digest: KeyDigest) -> (shown: ShownKey, isSigned: Bool) {
        let shown = ShownKey(digest, counted: KeyDigest(MessageDigest.sha256(assertion.keyIdentity)))
        let (key, isKnown) = gate.withLockedValue { ($0.publicKey(of: assertion), $0.knows(digest)) }
        if isKnown { return (shown, true) }
        guard let key, isSigned(key, assertion.signature, assertion.signingInput) else { return (shown, false) }
        gate.withLockedValue { $0.remember(assertion, signedBy: key, at: digest) }
        return (shown, true)
    }
}
