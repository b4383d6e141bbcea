public import FanfareCore
internal import FanfareModel

/// The keys in the folder `gateway.keys_dir`. Hidden files are ignored, any other entry but `….yaml` is counted in a
/// concern.
public struct GatewayKeys: Sendable {
    public struct Entry: Equatable, Sendable {
        /// The file's name without its folder.
        public let file: String
        public let key: GatewayKey
    }

    /// Keys of files without a fault, in the order of the files' names. No two have the same name or digest.
    public private(set) var entries: [Entry] = []
    /// One sentence each, with file, field and remedy.
    public private(set) var faults: [String] = []
    public private(set) var concerns: [Concern] = []
    /// The names of files that have a fault.
    private var faultyFiles: Set<String> = []
    private var openFiles = 0

    public static let suffix = ".yaml"
    static let maximumBytes = 65_536
    /// Entries of the folder, hidden ones included.
    private static let maximumEntries = 2 * KeyTable.maximumKeys

    public var table: KeyTable { KeyTable(entries.map(\.key)) }

    private init() {}

    /// The keys that replace others: a file with a fault keeps the key that it had, unless another file has its name or
    /// digest now. A key whose file is gone is removed.
    ///
    /// - Parameter old: the keys that the same folder had.
    public func replacing(_ old: [Entry]) -> [Entry] {
        let (names, proofs) = (Set(entries.map(\.key.name)), Set(entries.map(\.key.proof)))
        let kept = old.filter {
            faultyFiles.contains($0.file) && !names.contains($0.key.name) && !proofs.contains($0.key.proof)
        }
        return (entries + kept).sorted { $0.file < $1.file }
    }

    /// Reads all files of a folder.
    ///
    /// - Throws: why the folder cannot be read.
    public static func read(_ folder: ConfiguredFile) throws(ConfigurationError) -> GatewayKeys {
        guard !folder.isMissing else {
            throw folder.fault("No such file or directory; `fanfare gateway key add` makes it")
        }
        let visible = try folder.entries(limit: maximumEntries).filter { !$0.hasPrefix(".") }.sorted()
        let files = visible.filter { $0.hasSuffix(suffix) }
        guard files.count <= KeyTable.maximumKeys else {
            throw folder.fault("\(files.count) keys, at most \(KeyTable.maximumKeys); remove keys that are not in use")
        }
        var keys = GatewayKeys()
        var (names, proofs): ([String: String], [GatewayKey.Proof: String]) = ([:], [:])
        for file in files {
            guard let key = keys.key(in: file, of: folder) else {
                keys.faultyFiles.insert(file)
                continue
            }
            if let other = names.updateValue(file, forKey: key.name) {
                keys.faultyFiles.insert(file)
                keys.faults.append(
                    GatewayKeyFile.fault("\(other) has this name, too; change one of them", "name", file)
                )
            } else if let other = proofs.updateValue(file, forKey: key.proof) {
                keys.faultyFiles.insert(file)
                let field = key.publicKey == nil ? "sha256" : "public_key"
                keys.faults.append(
                    GatewayKeyFile.fault("\(other) has the same key; remove one of them", field, file)
                )
            } else {
                keys.entries.append(Entry(file: file, key: key))
            }
        }
        keys.addConcerns(of: folder, ignored: visible.count - files.count)
        return keys
    }

    private mutating func key(in name: String, of folder: ConfiguredFile) -> GatewayKey? {
        let path = folder.path.hasSuffix("/") ? folder.path + name : "\(folder.path)/\(name)"
        let file = ConfiguredFile(name: "\(GatewayKeyFile.setting) (\(name))", path: path)
        do throws(ConfigurationError) {
            let content = try file.read(limit: Self.maximumBytes)
            if content.isReadableByOthers { openFiles += 1 }
            guard let yaml = String(validating: content.bytes, as: UTF8.self) else { throw file.fault("not UTF-8") }
            var reader = GatewayKeyFile(name: name)
            let key = reader.key(in: yaml)
            faults += reader.faults
            return key
        } catch {
            faults += error.faults
            return nil
        }
    }

    private mutating func addConcerns(of folder: ConfiguredFile, ignored: Int) {
        if openFiles > 0 {
            let files = openFiles == 1 ? "1 key file is" : "\(openFiles) key files are"
            let remedy = "chmod 600 them"
            concerns.append(Concern("\(folder): \(files) readable by every user of this machine", remedy: remedy))
        }
        if ignored > 0 {
            let entries = ignored == 1 ? "1 entry is" : "\(ignored) entries are"
            concerns.append(Concern("\(folder): \(entries) ignored", remedy: "the file of a key is named ….yaml"))
        }
    }
}

/// What the gateway reads from the files that its settings name.
public struct GatewayFiles: Sendable {
    /// Empty without `gateway.keys_dir`.
    public var entries: [GatewayKeys.Entry] = []
    public var keys: KeyTable { KeyTable(entries.map(\.key)) }
    /// The bearer token of the gateway's admin address; nil if requests need none, or there is no address.
    public var adminToken: SecretText?
    public var concerns: [Concern] = []
}

extension Configuration {
    /// Reads the gateway's keys and its admin token, and checks its certificate and key. A worker needs none of these files.
    ///
    /// - Throws: all faults; no message repeats a part of a file.
    public func loadGateway() throws(ConfigurationError) -> GatewayFiles {
        var reader = SecretReader(configuration: self)
        reader.checkGateway()
        var files = GatewayFiles()
        if gateway.adminListen != nil {
            files.adminToken = reader.adminToken(of: gateway.adminListen, "gateway.admin_listen")
        }
        var faults = reader.faults
        if let folder = gateway.keysFolder {
            do throws(ConfigurationError) {
                let keys = try GatewayKeys.read(folder)
                faults += keys.faults
                files.entries = keys.entries
                files.concerns = keys.concerns
            } catch {
                faults += error.faults
            }
        }
        files.concerns = reader.concerns + files.concerns
        guard faults.isEmpty else {
            throw ConfigurationError(faults: faults, warnings: warnings + files.concerns.map(\.sentence))
        }
        return files
    }
}
