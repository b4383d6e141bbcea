internal import FanfareCore
internal import FanfareModel
internal import YAMLKit

/// Reads the YAML file of one key of the gateway, and collects its faults. No fault shows a text that may be a key.
struct GatewayKeyFile {
    /// The file's name without its folder, such as `shop.yaml`.
    let name: String
    private(set) var faults: [String] = []

    static let setting = "gateway.keys_dir"
    private static let fields = ["name", "sha256", "public_key", "projects", "rights", "rate", "priority_max"]

    init(name: String) { self.name = name }

    /// - Returns: nil if the file has a fault.
    mutating func key(in yaml: String) -> GatewayKey? {
        do {
            guard case .mapping(let members, _)? = try YAMLReader.read(yaml) else {
                add("must be a mapping of \(Self.fields.joined(separator: ", ")) to values")
                return nil
            }
            return key(members)
        } catch {
            add(ConfigurationFile.describe(error))
            return nil
        }
    }

    private mutating func key(_ members: [YAMLNode.Member]) -> GatewayKey? {
        var values: [String: YAMLNode] = [:]
        for member in members {
            let field = member.key.text ?? ""
            if Self.fields.contains(field) {
                values[field] = member.value
                continue
            }
            let isShown = field.utf8.count <= ConfigurationFile.longestKey && !GatewayKey.isKey(field)
            let hint = NearestKey.find(field, among: Self.fields).map { "; did you mean \($0)?" } ?? ""
            add("unknown field\(hint)", isShown ? field : nil, member.key)
        }
        let name = name(values["name"])
        let proof = proof(values["sha256"], values["public_key"])
        let projects = projects(values["projects"])
        let rights = rights(values["rights"])
        let rate = integer("rate", values["rate"], GatewayKey.rates, absent: "no limit")
        let priority = integer("priority_max", values["priority_max"], GatewayKey.priorities, absent: "9")
        guard faults.isEmpty, let name, let proof else { return nil }
        return GatewayKey(
            name: name,
            proof: proof,
            projects: projects,
            rights: rights,
            rate: rate,
            maximumPriority: priority ?? Int(GatewayKey.priorities.upperBound)
        )
    }

    // MARK: Fields

    private mutating func name(_ node: YAMLNode?) -> String? {
        let rule =
            "give the key a name that matches \(GatewayKey.namePattern) and does not begin with \(GatewayKey.prefix)"
        guard let text = text(node), GatewayKey.isValidName(text) else {
            add(node == nil ? "none; \(rule)" : "not a name; \(rule)", "name", node)
            return nil
        }
        return text
    }

    /// A key has one of both.
    private mutating func proof(_ digest: YAMLNode?, _ publicKey: YAMLNode?) -> GatewayKey.Proof? {
        guard let publicKey else { return self.digest(digest).map { .digest($0) } }
        guard digest == nil else {
            add("given beside sha256; a key has one of both", "public_key", publicKey)
            return nil
        }
        guard let text = text(publicKey), let key = PublicKeyText(pem: text) else {
            let isSecret = publicKey.text?.contains("PRIVATE KEY") == true
            let fault = isSecret ? "holds the private key" : "must be a public RSA key of 2048 to 8192 bits in PEM"
            let remedy = "`fanfare gateway key add --service-account` writes it, or `openssl rsa -pubout`"
            add("\(fault); \(remedy)", "public_key", publicKey)
            return nil
        }
        return .account(key)
    }

    private mutating func digest(_ node: YAMLNode?) -> KeyDigest? {
        let rule = "`fanfare gateway key add` writes it, or `printf %s KEY | sha256sum`"
        guard let text = text(node), let digest = KeyDigest(hexadecimal: text) else {
            let isKey = node?.text.map { GatewayKey.isKey($0) } == true
            let fault = isKey ? "holds the key itself" : "must be 64 hexadecimal digits, the SHA-256 of the key"
            add(node == nil ? "none; \(rule)" : "\(fault); \(rule)", "sha256", node)
            return nil
        }
        return digest
    }

    private mutating func projects(_ node: YAMLNode?) -> [String] {
        let remedy = "list the ids of the projects that the key may use, such as [demo]"
        guard let texts = texts(node), !texts.isEmpty else {
            add(node == nil ? "none; \(remedy)" : "must be a list; \(remedy)", "projects", node)
            return []
        }
        guard texts.allSatisfy(ProjectID.isValid) else {
            add("a project id must match \(ProjectID.pattern)", "projects", node)
            return []
        }
        if texts.count > GatewayKey.maximumProjects || Set(texts).count < texts.count {
            add("\(texts.count) projects; list at most \(GatewayKey.maximumProjects), each once", "projects", node)
        }
        return texts
    }

    private mutating func rights(_ node: YAMLNode?) -> Set<GatewayKey.Right> {
        guard let node else { return GatewayKey.defaultRights }
        let words = GatewayKey.Right.allCases.map(\.rawValue).joined(separator: ", ")
        let rights = texts(node).map { texts in texts.compactMap { GatewayKey.Right(rawValue: $0) } } ?? []
        guard !rights.isEmpty, rights.count == texts(node)?.count else {
            add("must be a list of \(words), such as [push]", "rights", node)
            return []
        }
        return Set(rights)
    }

    private mutating func integer(
        _ field: String,
        _ node: YAMLNode?,
        _ range: ClosedRange<Int64>,
        absent: String
    ) -> Int? {
        guard let node else { return nil }
        guard let number = text(node).flatMap({ Int64($0) }), range.contains(number) else {
            let remedy = "leave it out for \(absent)"
            add("must be a whole number from \(range.lowerBound) to \(range.upperBound), or \(remedy)", field, node)
            return nil
        }
        return Int(number)
    }

    // MARK: Values

    private func text(_ node: YAMLNode?) -> String? { node.flatMap { ConfigurationFile.isNull($0) ? nil : $0.text } }

    private func texts(_ node: YAMLNode?) -> [String]? {
        guard case .sequence(let nodes, _)? = node else { return nil }
        let texts = nodes.compactMap(\.text)
        return texts.count == nodes.count ? texts : nil
    }

    private mutating func add(_ sentence: String, _ field: String? = nil, _ node: YAMLNode? = nil) {
        faults.append(Self.fault(sentence, field, name + (node.map { " line \($0.line)" } ?? "")))
    }

    /// - Parameters:
    ///   - field: nil for the file as a whole.
    ///   - place: the file's name, and the line where it is known.
    static func fault(_ sentence: String, _ field: String?, _ place: String) -> String {
        "\(setting)\(field.map { ".\($0)" } ?? "") (\(place)): \(sentence)"
    }
}
