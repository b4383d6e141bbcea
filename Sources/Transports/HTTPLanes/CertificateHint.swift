/// Names the remedy for a refused certificate: the first error of anyone with a sandbox.
package enum CertificateHint {
    /// Text for the end of a reason; empty where a private authority would not help, as with a wrong name or an end that
    /// has passed.
    ///
    /// - Parameter text: what the TLS library says; empty if it says nothing.
    package static func text(for text: String) -> String {
        let isAboutAuthority =
            text.isEmpty || text.contains("issuer") || text.contains("self-signed")
            || text.contains("self signed")
        return isAboutAuthority ? "; a private authority is named by tls.ca_file" : ""
    }
}
