internal import COpenSSL

/// OpenSSL's result of the check of a peer's certificate.
public enum VerifyResult {
    /// Whether no trusted authority issued the certificate. False for every other fault, such as another name or an end
    /// that has passed.
    public static func isAboutAuthority(_ result: Int) -> Bool {
        [
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
            X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_SUBJECT_ISSUER_MISMATCH, X509_V_ERR_AKID_ISSUER_SERIAL_MISMATCH,
        ].contains(Int32(clamping: result))
    }
}
