import FanfareJSON

/// A well-formed request to `/fcm/notification`.
struct GroupRequest: Equatable, Sendable {
    enum Operation: Equatable, Sendable { case create, add(key: String), remove(key: String), get }

    var operation: Operation
    var name: String
    var tokens: [String]

    /// - Parameter query: the query of a GET, whose body is ignored.
    static func read(query: String) throws(GroupError) -> GroupRequest {
        let name = FormText.value("notification_key_name", in: query)
        guard let name, isName(name) else { throw .missing("notification_key_name") }
        return GroupRequest(operation: .get, name: name, tokens: [])
    }

    static func read(_ body: [UInt8]) throws(GroupError) -> GroupRequest {
        let object = try JSONObject(body, limits: JSONLimits(maximumDepth: 8, maximumBytes: 1 << 20)) { error in
            GroupError("JSON_PARSING_ERROR" + (error.map { ": position \($0.offset)" } ?? ""))
        }
        guard let name = object["notification_key_name"]?.string, isName(name) else {
            throw .missing("notification_key_name")
        }
        let list = object["registration_ids"]?.array ?? []
        let tokens = list.compactMap(\.string)
        guard tokens.count == list.count else { throw .noValidTokens }
        let operation: Operation
        switch object["operation"]?.string {
        case "create": operation = .create
        case "add", "remove":
            guard let key = object["notification_key"]?.nonEmptyString else { throw .missing("notification_key") }
            operation = object["operation"] == "add" ? .add(key: key) : .remove(key: key)
        default: throw GroupError("invalid operation")
        }
        guard !tokens.isEmpty else { throw .noValidTokens }
        return GroupRequest(operation: operation, name: name, tokens: tokens)
    }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 1_024
    }
}

/// Why a request about a group is refused: status 400 and one sentence.
struct GroupError: Error, Equatable, Sendable {
    var sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }

    static let exists = GroupError("notification_key already exists")
    static let notFound = GroupError("notification_key not found")
    static let noValidTokens = GroupError("no valid registration ids")
    static let nameMismatch = GroupError(
        "notification_key_name doesn't match the group name of the notification_key"
    )

    static let tooManyMembers = GroupError("too many registration ids: at most \(Groups.maximumMembers)")
    static let tooManyGroups = GroupError("too many groups: at most \(Groups.most) in this simulator")

    static func missing(_ field: String) -> GroupError { GroupError("missing " + field) }

    var reply: SimulatorReply { SimulatorReply(status: 400, object: ["error": .string(sentence)]) }
}
