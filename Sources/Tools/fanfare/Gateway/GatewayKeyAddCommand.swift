internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel
internal import Glibc
internal import OpenSSLKit

struct GatewayKeyAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Makes a key and prints it, once.",
        discussion: """
            Writes NAME.yaml with the key's SHA-256 into gateway.keys_dir. No file holds the key itself: save it now. The file's \
            owner is the user who runs this, and the gateway must be able to read it. A right is push (jobs), read (jobs and \
            results) or operate (cancel, pause, resume).

            With --service-account, the key is a service account file for SDKs that log in with one: it names the gateway's \
            POST /token, and NAME.yaml holds the public half. SDKs for Python, Go and Java obey that; those for Node, PHP and \
            .NET ask Google, so give them a key.

            Examples:
              fanfare gateway key add shop --project demo
              fanfare gateway key add crm --project demo --project demo-eu \\
                --rights push,read --rate 600
              fanfare gateway key add app --project demo \\
                --service-account app.json --url https://push.example.com:8443
            """
    )

    @Argument(help: "The key's name, which logs and metrics show.")
    var name: String

    @Option(help: .value("id", "A project that the key may use; may be repeated."), completion: Completion.projects)
    var project: [String] = []

    @Option(help: .value("list", "What the key may do: push, read, operate, separated by commas."))
    var rights = "push"

    @Option(help: .value("n", "Requests a minute, at most 500 or a second's share at once; left out: no limit."))
    var rate: Int?

    @Option(
        help: .value("file", "Write a service account file instead of printing a key; never replaces a file."),
        completion: .file(extensions: ["json"])
    )
    var serviceAccount: String?

    @Option(help: .value("url", "How clients reach the gateway, for --service-account."))
    var url: String?

    @Flag(help: "Print one JSON object, with the key.")
    var json = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if Fanfare.skipsValidation { return }
        try GatewayKey.validate(name: name)
        guard !project.isEmpty else { throw ValidationError("name the projects of the key with --project") }
        guard project.allSatisfy(ProjectID.isValid) else {
            throw ValidationError("--project must match \(ProjectID.pattern)")
        }
        guard Set(project).count == project.count, project.count <= GatewayKey.maximumProjects else {
            throw ValidationError("--project: at most \(GatewayKey.maximumProjects), each once")
        }
        guard rightsOfKey != nil else { throw ValidationError("--rights: push, read and operate, separated by commas") }
        if let rate, !GatewayKey.rates.contains(Int64(rate)) {
            throw ValidationError("--rate: \(GatewayKey.rates.lowerBound) to \(GatewayKey.rates.upperBound)")
        }
        guard (serviceAccount == nil) == (url == nil) else {
            throw ValidationError("--service-account and --url go together")
        }
        if let url, ServiceAccountFile.origin(of: url) == nil {
            throw ValidationError(
                "--url: https://HOST or https://HOST:PORT, without a path; http:// for this machine only"
            )
        }
    }

    /// Nil for a list with another word.
    private var rightsOfKey: Set<GatewayKey.Right>? {
        let words = rights.split(separator: ",", omittingEmptySubsequences: false)
        let rights = words.compactMap { GatewayKey.Right(rawValue: String($0)) }
        return rights.count == words.count ? Set(rights) : nil
    }

    func run() throws {
        let configuration = try options.load()
        let folder = try configuration.gateway.requiredKeysFolder()
        let made = try MadeKey(name: name, project: project[0], url: serviceAccount == nil ? nil : url)
        let key = GatewayKey(name: name, proof: made.proof, projects: project, rights: rightsOfKey ?? [], rate: rate)
        if try KeyFile.makeFolder(folder) { try checkRoom(in: folder) }
        if let serviceAccount {
            do throws(NewFile.Failure) { try NewFile.write(made.secret + "\n", to: serviceAccount, mode: 0o600) } catch
            {
                throw error.outcome(serviceAccount, existing: "choose another name")
            }
        }
        let file: String
        do { file = try KeyFile.write(key, into: folder) } catch {
            if let serviceAccount { unlink(serviceAccount) }
            throw error
        }
        let known = configuration.projects.map(\.id)
        if !known.isEmpty {
            ConfigurationOptions.warn(
                project.filter { !known.contains($0) }.map { "--project \($0): the configuration has no such project" }
            )
        }
        report(key, made, file)
    }

    private func checkRoom(in folder: ConfiguredFile) throws {
        let keys = try GatewayKeys.read(folder)
        if let other = keys.entries.first(where: { $0.key.name == name }) {
            throw Outcome.failed.because(
                "key \(name): \(other.file) has a key of this name; choose another, or `fanfare gateway key remove "
                    + "\(name)` first"
            )
        }
        guard keys.entries.count + keys.faults.count < KeyTable.maximumKeys else {
            throw Outcome.failed.because("\(folder): holds \(KeyTable.maximumKeys) keys, which is the limit")
        }
    }

    private func report(_ key: GatewayKey, _ made: MadeKey, _ file: String) {
        guard !json else {
            var object = key.json
            if let serviceAccount {
                object["service_account"] = .string(serviceAccount)
            } else {
                object["key"] = .string(made.secret)
            }
            object["file"] = .string(file)
            return Console.json(object)
        }
        guard let serviceAccount else {
            Console.line(made.secret)
            return Console.error(
                "\(file) in gateway.keys_dir holds its SHA-256. Save the key now: it is not shown again."
            )
        }
        Console.line(serviceAccount)
        Console.error(
            "\(serviceAccount) holds the private key, and \(file) in gateway.keys_dir the public one. Give it to the producer as "
                + "GOOGLE_APPLICATION_CREDENTIALS, and keep no copy."
        )
    }
}

extension GatewayKeyAddCommand {
    /// `ffk_` and 32 random bytes.
    static func randomKey() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return GatewayKey.prefix + String(decoding: Base64.encodeURL(bytes), as: UTF8.self)
    }
}

/// A new key: what the producer keeps, and what the gateway knows it by.
private struct MadeKey {
    /// The key, or the text of a service account file.
    let secret: String
    let proof: GatewayKey.Proof

    /// - Parameter url: of the gateway, for a service account; nil for a key, `ffk_` and 32 random bytes.
    init(name: String, project: String, url: String?) throws {
        guard let origin = url.flatMap(ServiceAccountFile.origin) else {
            secret = GatewayKeyAddCommand.randomKey()
            guard let digest = KeyDigest(MessageDigest.sha256(Array(secret.utf8))) else {
                preconditionFailure("SHA-256 of another size")
            }
            proof = .digest(digest)
            return
        }
        let signer = try RS256Signer.generate()
        let publicPEM = try signer.publicKeyPEM()
        guard let publicKey = PublicKeyText(pem: publicPEM),
            let digest = KeyDigest(MessageDigest.sha256(Array(publicPEM.utf8)))
        else { preconditionFailure("OpenSSL writes another public key") }
        let account = ServiceAccountFile(
            name: name,
            project: project,
            privateKeyPEM: try signer.privateKeyPEM(),
            keyID: String(digest.hexadecimal.prefix(40)),
            origin: origin
        )
        (secret, proof) = (JSONValue.object(account.json).jsonText, .account(publicKey))
    }
}
