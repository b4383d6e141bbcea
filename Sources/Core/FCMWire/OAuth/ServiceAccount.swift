internal import FanfareJSON

/// The credential of a project: the fields of a service account file that are needed to ask for access tokens.
public struct ServiceAccount: Equatable, Sendable {
    /// The project that the file names; a service account may send for others too.
    public let projectID: String?
    public let privateKeyID: String?
    /// PEM, PKCS#8.
    public let privateKey: [UInt8]
    public let clientEmail: String
    /// Endpoint of access tokens: an absolute http or https URL. The configuration decides which hosts are allowed.
    public let tokenURI: String

    /// Reads the file that Google's console hands out.
    public static func parse(_ bytes: [UInt8]) throws(ServiceAccountError) -> ServiceAccount {
        let parsed: JSONValue
        do throws(JSONError) {
            parsed = try JSONParser.parse(bytes, limits: JSONLimits(maxDepth: 8, maxBytes: 65_536))
        } catch {
            throw ServiceAccountError(reason: "not a service account file: not JSON: \(error)")
        }
        guard let object = parsed.object else {
            throw ServiceAccountError(reason: "not a service account file: must be an object, not \(parsed.kindName)")
        }
        let type = try text("type", of: object)
        guard type == "service_account" else {
            throw ServiceAccountError(reason: "type: must be service_account; this is another kind of credential")
        }
        let key = try text("private_key", of: object)
        guard key.hasPrefix("-----BEGIN ") else {
            throw ServiceAccountError(reason: "private_key: must be a PEM text that starts with -----BEGIN")
        }
        let uri = try text("token_uri", of: object)
        let isPrintable = uri.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPrintable, uri.hasPrefix("https://") || uri.hasPrefix("http://") else {
            throw ServiceAccountError(reason: "token_uri: must be an absolute URL")
        }
        return ServiceAccount(
            projectID: try projectID(of: object),
            privateKeyID: try optionalText("private_key_id", of: object),
            privateKey: Array(key.utf8),
            clientEmail: try text("client_email", of: object),
            tokenURI: uri
        )
    }

    /// An id or a number. It goes into the paths of requests, where dots alone would be read as a step up.
    private static func projectID(of object: JSONObject) throws(ServiceAccountError) -> String? {
        guard let id = try optionalText("project_id", of: object) else { return nil }
        // Old ids begin with their organisation's domain: `example.com:demo`.
        guard id.utf8.allSatisfy("abcdefghijklmnopqrstuvwxyz0123456789-.:".utf8.contains), id.utf8.count <= 128,
            id.utf8.contains(where: { $0 != UInt8(ascii: ".") })
        else {
            throw ServiceAccountError(
                reason: "project_id: must be at most 128 of a-z 0-9 - . : and not of dots alone"
            )
        }
        return id
    }

    private static func text(_ name: String, of object: JSONObject) throws(ServiceAccountError) -> String {
        guard let text = try optionalText(name, of: object) else {
            throw ServiceAccountError(reason: "\(name): missing")
        }
        return text
    }

    private static func optionalText(_ name: String, of object: JSONObject) throws(ServiceAccountError) -> String? {
        switch object[name] {
        case nil, .null, .string(""): return nil
        case .string(let text): return text
        case .some(let value): throw ServiceAccountError(reason: "\(name): must be a string, not \(value.kindName)")
        }
    }
}

/// The key must not reach a log by way of an interpolated value.
extension ServiceAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "service account \(clientEmail)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["clientEmail": clientEmail]) }
}

/// Names the field and what is wrong with it, never its value.
public struct ServiceAccountError: Error, Equatable, Sendable, CustomStringConvertible {
    public let reason: String

    public var description: String { reason }
}
