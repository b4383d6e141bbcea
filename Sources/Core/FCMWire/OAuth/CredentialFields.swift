internal import FanfareJSON

/// Why a credential file cannot be used. It names the field and what is wrong with it, never the field's value.
public struct CredentialError: Error, Equatable, Sendable, CustomStringConvertible {
    public let reason: String

    public var description: String { reason }
}

/// The fields of a credential file, or of an object inside it.
struct CredentialFields {
    let object: JSONObject
    /// The path of the object in messages, ending with a dot; empty for the file itself.
    let path: String
    /// The folder that relative paths start from, ending with a slash; empty for the working directory.
    var folder = ""

    init(_ object: JSONObject, path: String = "", folder: String = "") {
        self.object = object
        self.path = path
        self.folder = folder
    }

    init(file bytes: [UInt8]) throws(CredentialError) {
        let parsed: JSONValue
        do throws(JSONError) {
            parsed = try JSONParser.parse(
                bytes,
                limits: JSONLimits(maximumDepth: 8, maximumBytes: Credential.maximumBytes)
            )
        } catch {
            throw CredentialError(reason: "not a credential file: not JSON: \(error)")
        }
        guard let object = parsed.object else {
            throw CredentialError(reason: "not a credential file: must be an object, not \(parsed.kindName)")
        }
        self.init(object)
    }

    func error(_ name: String, _ sentence: String) -> CredentialError {
        CredentialError(reason: "\(path)\(name): \(sentence)")
    }

    func text(_ name: String) throws(CredentialError) -> String {
        guard let text = try optionalText(name) else { throw error(name, "missing") }
        return text
    }

    /// nil if the field is missing, null or empty.
    func optionalText(_ name: String) throws(CredentialError) -> String? {
        switch object[name] {
        case nil, .null, .string(""): return nil
        case .string(let text): return text
        case .some(let value): throw error(name, "must be a string, not \(value.kindName)")
        }
    }

    /// An absolute http or https URL of visible ASCII.
    func url(_ name: String) throws(CredentialError) -> String {
        let url = try text(name)
        guard CredentialURL.isAbsolute(url) else { throw error(name, "must be an absolute URL") }
        return url
    }

    /// The fields of an object inside this one; nil if it is missing or null.
    func object(_ name: String) throws(CredentialError) -> CredentialFields? {
        switch object[name] {
        case nil, .null: return nil
        case .object(let inner): return CredentialFields(inner, path: path + name + ".", folder: folder)
        case .some(let value): throw error(name, "must be an object, not \(value.kindName)")
        }
    }

    /// A whole number in the range; nil if it is missing or null.
    func number(_ name: String, _ range: ClosedRange<Int64>) throws(CredentialError) -> Int64? {
        switch object[name] {
        case nil, .null: return nil
        case .number(let number):
            if let value = number.wholeInt64, range.contains(value) { return value }
            fallthrough
        case .some: throw error(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    /// A project's id or number. It goes into paths and header lines, where dots alone would be read as a step up.
    func projectID(_ name: String) throws(CredentialError) -> String? {
        guard let id = try optionalText(name) else { return nil }
        // Old ids begin with their organisation's domain: `example.com:demo`.
        guard id.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-.:".utf8.contains), id.utf8.count <= 128,
            id.utf8.contains(where: { $0 != UInt8(ascii: ".") })
        else { throw error(name, "must be at most 128 of a-z 0-9 - . : and not of dots alone") }
        return id
    }
}

/// A URL inside a credential file, and the field that holds it.
public struct CredentialURL: Equatable, Sendable {
    /// Such as `token_uri`, or `credential_source.url`.
    public let field: String
    public let url: String
    /// Whether it serves metadata or subject tokens, which may come over plain HTTP and from a URL with a query.
    public let servesSubjectTokens: Bool

    init(_ field: String, _ url: String, servesSubjectTokens: Bool = false) {
        (self.field, self.url, self.servesSubjectTokens) = (field, url, servesSubjectTokens)
    }

    static func isAbsolute(_ url: String) -> Bool {
        url.utf8.allSatisfy { (0x21...0x7E).contains($0) } && (url.hasPrefix("https://") || url.hasPrefix("http://"))
    }
}
