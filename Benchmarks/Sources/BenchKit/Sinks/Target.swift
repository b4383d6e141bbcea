/// Where workers send, and what they need to be let in.
struct Target {
    /// `https://host:port`
    let origin: String
    /// The certificate authority of the server, a file.
    let authority: String
    /// A service account file (transport v1).
    let credentials: String
    /// A file with the server key (transport legacy).
    let serverKey: String
}
