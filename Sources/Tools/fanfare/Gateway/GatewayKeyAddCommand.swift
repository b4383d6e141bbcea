internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel
internal import OpenSSLKit

struct GatewayKeyAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Makes a key and prints it, once.",
        discussion: """
            Writes NAME.yaml with the key's SHA-256 into gateway.keys_dir. No file holds the key itself: save it now. The file's \
            owner is the user who runs this, and the gateway must be able to read it. A right is push (jobs), read (jobs and \
            results) or operate (cancel, pause, resume).

            Examples:
              fanfare gateway key add shop --project demo
              fanfare gateway key add crm --project demo --project demo-eu \\
                --rights push,read --rate 600
            """
    )

    @Argument(help: "The key's name, which logs and metrics show.")
    var name: String

    @Option(help: .value("id", "A project that the key may use; may be repeated."), completion: Completion.projects)
    var project: [String] = []

    @Option(help: .value("list", "What the key may do: push, read, operate, separated by commas."))
    var rights = "push"

    @Option(help: .value("n", "Requests a minute; left out: no limit."))
    var rate: Int?

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
        let text = Self.randomKey()
        guard let digest = KeyDigest(MessageDigest.sha256(Array(text.utf8))) else {
            preconditionFailure("SHA-256 of another size")
        }
        let key = GatewayKey(name: name, digest: digest, projects: project, rights: rightsOfKey ?? [], rate: rate)
        if try KeyFile.makeFolder(folder) {
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
        let file = try KeyFile.write(key, into: folder)
        let known = configuration.projects.map(\.id)
        if !known.isEmpty {
            ConfigurationOptions.warn(
                project.filter { !known.contains($0) }.map { "--project \($0): the configuration has no such project" }
            )
        }
        guard !json else {
            var object = key.json
            object["key"] = .string(text)
            object["file"] = .string(file)
            return Console.json(object)
        }
        Console.line(text)
        Console.error("\(file) in gateway.keys_dir holds its SHA-256. Save the key now: it is not shown again.")
    }

    /// `ffk_` and 32 random bytes.
    static func randomKey() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return GatewayKey.prefix + String(decoding: Base64.encodeURL(bytes), as: UTF8.self)
    }
}
