internal import FanfareModel

/// A path of Fanfare's own API (contract 8).
public enum OwnRoute: Equatable, Sendable {
    public enum Control: String, CaseIterable, Sendable { case cancel, pause, resume }

    /// A method of a path.
    public struct Operation: Equatable, Sendable {
        public var method: String
        /// What the key must be allowed to do; nil for an operation that needs no key.
        public var right: GatewayKey.Right?
    }

    /// The description of the API.
    case document
    case jobs(project: String)
    case job(project: String, id: String)
    case results(project: String, id: String)
    case feedback(project: String)
    case control(Control, project: String, id: String)
    /// - Parameter name: any text; see ``StoredAudience``.
    case audience(project: String, name: String)
    /// A path beside these that leads nowhere.
    case unknown(project: String)

    public static let json = "application/json"
    public static let ndjson = "application/x-ndjson"
    /// The states by which jobs are listed.
    public static let states = [
        "scheduled", "waiting", "active", "retrying", "paused", "parked", "done", "cancelled", "expired", "rejected",
    ]

    /// Every path, with the names of its parameters in place of their values.
    static let all: [OwnRoute] = {
        let (project, id) = ("{project}", "{id}")
        let controls = Control.allCases.map { OwnRoute.control($0, project: project, id: id) }
        let reads = [OwnRoute.job(project: project, id: id), .results(project: project, id: id)]
        let others = [OwnRoute.feedback(project: project), .audience(project: project, name: "{name}")]
        return [.document, .jobs(project: project)] + reads + controls + others
    }()

    /// nil for a path that is not of this API.
    ///
    /// A colon before the word of an operation is one only as it is: in the id of a job it is written `%3A` there.
    ///
    /// - Parameter path: still encoded.
    public init?(path: String) {
        if path == "/openapi.json" {
            self = .document
            return
        }
        let slash = UInt8(ascii: "/")
        let parts = path.utf8.split(separator: slash, omittingEmptySubsequences: false).map { Substring($0) }
        guard parts.count >= 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "projects",
            ["jobs", "feedback", "audiences"].contains(parts[4]), let project = Self.decoded(parts[3])
        else { return nil }
        self = Self.route(parts[4...], of: project) ?? .unknown(project: project)
    }

    private static func route(_ parts: ArraySlice<Substring>, of project: String) -> OwnRoute? {
        switch (parts.first, parts.count) {
        case ("jobs", 1): return .jobs(project: project)
        case ("feedback", 1): return .feedback(project: project)
        case ("audiences", 2):
            return decoded(parts[parts.startIndex + 1]).flatMap { name in
                name.isEmpty ? nil : .audience(project: project, name: name)
            }
        case ("jobs", 2), ("jobs", 3): break
        default: return nil
        }
        let name = parts[parts.startIndex + 1]
        if parts.count == 3 {
            guard parts.last == "results", let id = jobID(name) else { return nil }
            return .results(project: project, id: id)
        }
        for control in Control.allCases where name.hasSuffix(":" + control.rawValue) {
            return jobID(name.dropLast(control.rawValue.count + 1)).map { .control(control, project: project, id: $0) }
        }
        return jobID(name).map { .job(project: project, id: $0) }
    }

    private static func jobID(_ text: Substring) -> String? {
        guard let id = decoded(text), (try? RecipientRules.checkID(id.utf8, at: "")) != nil else { return nil }
        return id
    }

    private static func decoded(_ text: Substring) -> String? {
        PercentDecoding.bytes(of: text.utf8).flatMap { String(validating: $0, as: UTF8.self) }
    }

    public var project: String {
        switch self {
        case .document: ""
        case .jobs(let project), .feedback(let project), .unknown(let project): project
        case .job(let project, _), .results(let project, _), .audience(let project, _): project
        case .control(_, let project, _): project
        }
    }

    var operations: [Operation] {
        switch self {
        case .document: [Operation(method: "GET")]
        case .jobs: [Operation(method: "GET", right: .read), Operation(method: "POST", right: .push)]
        case .job, .results, .feedback: [Operation(method: "GET", right: .read)]
        case .control: [Operation(method: "POST", right: .operate)]
        case .audience: [Operation(method: "PUT", right: .push), Operation(method: "DELETE", right: .push)]
        case .unknown: []
        }
    }

    /// nil for a method that the path does not have. HEAD is a GET without its body.
    public func operation(_ method: String) -> Operation? {
        operations.first { $0.method == (method == "HEAD" ? "GET" : method) }
    }

    /// The header `Allow`.
    public var allowedMethods: String {
        operations.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] }.joined(separator: ", ")
    }

    /// The media types of a good answer, the usual one first.
    public var types: [String] {
        if case .results = self { [Self.json, Self.ndjson] } else { [Self.json] }
    }

    /// The path of a job, with all that an URL must not have encoded.
    public static func path(ofJob id: String, in project: String) -> String {
        "/v1/projects/\(project)/jobs/\(id.replacing(":", with: "%3A"))"
    }

    /// The path as the description spells it.
    var template: String {
        switch self {
        case .document: "/openapi.json"
        case .jobs(let project): "/v1/projects/\(project)/jobs"
        case .job(let project, let id): "/v1/projects/\(project)/jobs/\(id)"
        case .results(let project, let id): "/v1/projects/\(project)/jobs/\(id)/results"
        case .control(let control, let project, let id): "/v1/projects/\(project)/jobs/\(id):\(control.rawValue)"
        case .feedback(let project): "/v1/projects/\(project)/feedback"
        case .audience(let project, let name): "/v1/projects/\(project)/audiences/\(name)"
        case .unknown: ""
        }
    }
}
