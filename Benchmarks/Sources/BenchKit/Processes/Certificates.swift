/// A certificate authority and a server certificate for localhost, good for one day.
struct Certificates {
    let authority: String
    let certificate: String
    let key: String
    /// An RSA key in PEM, for the service account.
    let accountKey: String

    init(authority: String, certificate: String, key: String, accountKey: String) {
        self.authority = authority
        self.certificate = certificate
        self.key = key
        self.accountKey = accountKey
    }

    init(in workspace: Workspace) throws {
        let openssl = try Tool.openssl.found()
        authority = workspace.file("ca.pem")
        certificate = workspace.file("server.pem")
        key = workspace.file("server.key")
        let accountKeyFile = workspace.file("account.key")
        let extensions = try workspace.write(
            "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n",
            to: "server.ext"
        )
        /// The words of a command line; none of them holds a space.
        func run(_ line: String, _ further: [String] = []) throws {
            let words = line.split(separator: " ").map(String.init) + further
            _ = try Child("openssl", openssl, words, in: workspace).finish(seconds: 30)
        }
        let curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        let authorityKey = workspace.file("ca.key")
        let request = workspace.file("server.csr")
        try run(
            "req -x509 -days 1 \(curve) -keyout \(authorityKey) -out \(authority)",
            ["-subj", "/CN=Fanfare benchmark authority"]
        )
        try run("req -new \(curve) -keyout \(key) -out \(request) -subj /CN=localhost")
        try run(
            "x509 -req -days 1 -in \(request) -CA \(authority) -CAkey \(authorityKey) -CAcreateserial"
                + " -extfile \(extensions) -out \(certificate)"
        )
        try run("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out \(accountKeyFile)")
        accountKey = workspace.read("account.key")
    }
}
