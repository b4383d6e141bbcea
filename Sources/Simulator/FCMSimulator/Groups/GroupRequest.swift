import FanfareJSON

/// A well-formed request to `/fcm/notification`.
struct GroupRequest: Equatable, Sendable {
    enum Operation: Equatable, Sendable { case create, add(key: String), remove(key: String), get }

    var operation: Operation
    var name: String
    var tokens: [String]

    /// - Parameter query: the query of a GET, whose body is ignored.
    static func read(query: String) -> Result<GroupRequest, GroupRefusal> {
        let name = FormText.value("notification_key_name", in: query)
        guard let name, isName(name) else { return .failure(.missing("notification_key_name")) }
        return .success(GroupRequest(operation: .get, name: name, tokens: []))
    }

    static func read(_ body: [UInt8]) -> Result<GroupRequest, GroupRefusal> {
        let object: JSONObject
        do throws(JSONError) {
            let value = try JSONParser.parse(body, limits: JSONLimits(maxDepth: 8, maxBytes: 1 << 20))
            guard case .object(let root) = value else { return .failure(GroupRefusal("JSON_PARSING_ERROR")) }
            object = root
        } catch {
            return .failure(GroupRefusal("JSON_PARSING_ERROR: position \(error.offset)"))
        }
        guard let name = object["notification_key_name"]?.string, isName(name) else {
            return .failure(.missing("notification_key_name"))
        }
        let tokens = object["registration_ids"]?.array ?? []
        guard tokens.allSatisfy({ $0.string != nil }) else { return .failure(.noValidTokens) }
        let key = object["notification_key"]?.string
        let operation: Operation
        switch object["operation"]?.string {
        case "create": operation = .create
        case "add", "remove":
            guard let key, !key.isEmpty else { return .failure(.missing("notification_key")) }
            operation = object["operation"] == "add" ? .add(key: key) : .remove(key: key)
        default: return .failure(GroupRefusal("invalid operation"))
        }
        guard !tokens.isEmpty else { return .failure(.noValidTokens) }
        return .success(GroupRequest(operation: operation, name: name, tokens: tokens.compactMap(\.string)))
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 1_024
    }
}

/// Why a request about a group is refused: status 400 and one sentence.
struct GroupRefusal: Error, Equatable, Sendable {
    var sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }

    static let exists = GroupRefusal("notification_key already exists")
    static let notFound = GroupRefusal("notification_key not found")
    static let noValidTokens = GroupRefusal("no valid registration ids")
    static let nameMismatch = GroupRefusal(
        "notification_key_name doesn't match the group name of the notification_key"
    )

    static func missing(_ field: String) -> GroupRefusal { GroupRefusal("missing " + field) }

    init(_ refusal: Groups.Refusal) {
        switch refusal {
        case .exists: self = .exists
        case .notFound: self = .notFound
        case .nameMismatch: self = .nameMismatch
        case .tooManyMembers: self.init("too many registration ids: at most \(Groups.mostMembers)")
        case .tooManyGroups: self.init("too many groups: at most \(Groups.most) in this simulator")
        }
    }

    var reply: SimulatorReply {
        SimulatorReply(status: 400, json: JSONValue.object(["error": .string(sentence)]).jsonBytes)
    }
}
