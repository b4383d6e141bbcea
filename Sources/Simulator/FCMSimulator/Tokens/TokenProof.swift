/// The server's check of an assertion's signature, and the access token to issue if the request is valid.
public struct TokenProof: Equatable, Sendable {
    public var isSignatureValid: Bool
    public var newToken: String

    public init(isSignatureValid: Bool, newToken: String) {
        self.isSignatureValid = isSignatureValid
        self.newToken = newToken
    }
}
