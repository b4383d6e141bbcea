import Crypto
import CryptoExtras
import FCMSimulator
import Foundation

/// Checks the RS256 signature of an assertion against the key of the account it names.
struct SignatureVerifier: Sendable {
    private let keys: [String: _RSA.Signing.PublicKey]

    init(keys: [String: _RSA.Signing.PublicKey]) {
        self.keys = keys
    }

    func isValid(_ request: TokenRequest) -> Bool {
        guard let key = keys[request.email] else { return false }
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: Data(request.signature)),
            for: SHA256.hash(data: request.signingInput),
            padding: .insecurePKCS1v1_5
        )
    }
}
