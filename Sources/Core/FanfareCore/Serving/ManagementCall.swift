internal import FanfareJSON
internal import FanfareModel

/// What a management job does.
public enum ManagementOperation: Equatable, Sendable {
    case subscribe([String], topic: String)
    case unsubscribe([String], topic: String)
    case listTopics(token: String)
    case createGroup(name: String, members: [String])
    case add(members: [String], name: String, key: String)
    case remove(members: [String], name: String, key: String)
    case getGroup(name: String)
}

/// A request to a ``ManagementRoute``, as the operation of a job.
///
/// Its tokens and topic are well formed. `EntryCheck` has the other rules of operations.
public struct ManagementCall: Equatable, Sendable {
    /// Google's limit for one batch, which is also that of a Fanfare batch.
    static let maximumTokens = 1_000

    public let route: ManagementRoute
    /// nil if the request has no well-formed token: it is answered without a job.
    public let operation: ManagementOperation?
    /// Of a batch, whether each of its tokens is well formed. The others are answered `INVALID_ARGUMENT` one by one, as
    /// Google does, and are no recipients of the job.
    let isToken: [Bool]

    /// - Parameters:
    ///   - method: one of the route's ``ManagementRoute/methods``.
    ///   - query: still encoded. Unknown parameters are ignored: Google has general ones.
    /// - Throws: the first fault, with its place in the request.
    public init(_ route: ManagementRoute, method: String, query: String, body: [UInt8]) throws(EntryFault) {
        self.route = route
        switch route {
        case .batch(let isAdding):
            let request = try Self.object(body)
            let topic = try Self.topic(request["to"]?.string, at: "to")
            let tokens = try Self.texts(request["registration_tokens"], at: "registration_tokens")
            let rule = "\(tokens.count) tokens, 1 to \(Self.maximumTokens)"
            try require((1...Self.maximumTokens).contains(tokens.count), "registration_tokens", rule)
            isToken = tokens.map { RecipientRules.isToken($0) }
            let good = tokens.filter { RecipientRules.isToken($0) }
            operation = good.isEmpty ? nil : Self.change(isAdding, good, topic)
            return
        case .relation(let token, let topic):
            let token = try Self.token(token)
            operation = Self.change(method == "POST", [token], try Self.topic(topic, at: "topic"))
        case .info(let token): operation = .listTopics(token: try Self.token(token))
        case .subscriptions(_, let registration, let topic):
            let token = try Self.token(registration)
            if method == "GET" {
                operation = .listTopics(token: token)
            } else {
                // Only a new subscription is named outside the path.
                var name = topic
                if name == nil { name = try Self.topicName(query: query, body: body) }
                operation = Self.change(method == "POST", [token], try Self.topic(name, at: "topic_name"))
            }
        case .groups:
            if method == "GET" {
                let name = Self.value(["notification_key_name"], in: query)
                operation = .getGroup(name: try Self.required(name, "notification_key_name"))
            } else {
                operation = try Self.group(try Self.object(body))
            }
        }
        isToken = []
    }

    private static func change(_ isAdding: Bool, _ tokens: [String], _ topic: String) -> ManagementOperation {
        isAdding ? .subscribe(tokens, topic: topic) : .unsubscribe(tokens, topic: topic)
    }

    private static func group(_ request: JSONObject) throws(EntryFault) -> ManagementOperation {
        let name = try required(request["notification_key_name"]?.string, "notification_key_name")
        let members = try texts(request["registration_ids"], at: "registration_ids")
        let operation = request["operation"]?.string
        if operation == "create" { return .createGroup(name: name, members: members) }
        try require(operation == "add" || operation == "remove", "operation", "must be create, add or remove")
        let key = try required(request["notification_key"]?.string, "notification_key")
        return operation == "add"
            ? .add(members: members, name: name, key: key) : .remove(members: members, name: name, key: key)
    }

    /// The topic of a new subscription, from the query or the body, in either spelling.
    private static func topicName(query: String, body: [UInt8]) throws(EntryFault) -> String? {
        if let name = value(["topicName", "topic_name"], in: query) { return name }
        guard !body.isEmpty else { return nil }
        let object = try object(body)
        return (object["topicName"] ?? object["topic_name"])?.string
    }

    private static func object(_ body: [UInt8]) throws(EntryFault) -> JSONObject {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(ByteOrderMark.removed(from: body), limits: JSONLimits(maximumDepth: 8))
        } catch {
            throw EntryFault("body", "not JSON at byte \(error.offset): \(error.reason)", offset: error.offset)
        }
        guard let object = value.object else { throw EntryFault("body", "must be an object, not \(value.kindName)") }
        return object
    }

    private static func texts(_ value: JSONValue?, at path: String) throws(EntryFault) -> [String] {
        guard let values = value?.array else { throw EntryFault(path, "must be an array of strings") }
        let texts = values.compactMap(\.string)
        try require(texts.count == values.count, path, "must be an array of strings")
        return texts
    }

    private static func token(_ text: String) throws(EntryFault) -> String {
        try RecipientRules.checkToken(text.utf8, at: "token")
        return text
    }

    private static func topic(_ text: String?, at path: String) throws(EntryFault) -> String {
        try RecipientRules.topicName(Array(required(text, path).utf8), at: path)
    }

    private static func required(_ text: String?, _ path: String) throws(EntryFault) -> String {
        guard let text, !text.isEmpty else { throw EntryFault(path, "required") }
        return text
    }

    /// The value of the last parameter with one of these names; nil without one.
    private static func value(_ names: [String], in query: String) -> String? {
        var found: String?
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, names.contains(where: { $0.utf8.elementsEqual(halves[0]) }) else { continue }
            found = PercentDecoding.bytes(of: halves[1], plusIsSpace: true).map { String(decoding: $0, as: UTF8.self) }
        }
        return found
    }
}
