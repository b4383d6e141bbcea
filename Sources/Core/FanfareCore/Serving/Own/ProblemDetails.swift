internal import FanfareJSON

/// An error answer of Fanfare's own API: problem details of RFC 9457, `application/problem+json`.
public struct ProblemDetails: Error, Equatable, Sendable {
    /// A rule that the request breaks, and where.
    public struct Fault: Equatable, Sendable {
        public enum Place: Equatable, Sendable {
            /// A JSON Pointer (RFC 6901) into the body; empty for the whole of it.
            case pointer(String)
            /// A parameter of the query.
            case parameter(String)
            case header(String)
            /// A line of the body, counted from 1.
            case line(Int)
        }

        public var place: Place
        public var rule: String

        init(_ place: Place, _ rule: String) { (self.place, self.rule) = (place, rule) }
    }

    public var status: Int
    /// A sentence for people.
    var detail: String
    public var faults: [Fault] = []
    /// The job that the request made, or names.
    public var job: String?

    /// Every status of the API's errors, with its phrase: the title where `type` is `about:blank`.
    static let titles: KeyValuePairs = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        406: "Not Acceptable", 409: "Conflict", 413: "Content Too Large", 415: "Unsupported Media Type",
        422: "Unprocessable Content", 429: "Too Many Requests", 503: "Service Unavailable", 504: "Gateway Timeout",
    ]

    static let type = "application/problem+json"

    public init(_ status: Int, _ detail: String, job: String? = nil) {
        (self.status, self.detail, self.job) = (status, detail, job)
    }

    /// A fault outside a JSON body.
    init(_ place: Fault.Place, _ rule: String) {
        let name =
            switch place {
            case .pointer(let name), .parameter(let name), .header(let name): name
            case .line(let line): "line \(line)"
            }
        self.init(400, "\(name): \(rule)")
        faults = [Fault(place, rule)]
    }

    /// A rule of jobs, as `EntryCheck` names it.
    public init(_ fault: EntryFault, job: String? = nil) {
        self.init(422, fault.path.isEmpty ? fault.rule : fault.reason, job: job)
        faults = [Fault(.pointer(Self.pointer(ofPath: fault.path)), fault.rule)]
    }

    /// A rule of audiences.
    public init(_ fault: AudienceReader.Fault) {
        self.init(.line(fault.line), fault.rule)
        status = 422
    }

    /// The reason for which a worker rejected a job: `path: rule` (contract 2).
    public init(rejection: String, job: String) {
        let colon = rejection.firstRange(of: ": ")
        let path = colon.map { String(rejection[..<$0.lowerBound]) } ?? ""
        let rule = colon.map { String(rejection[$0.upperBound...]) } ?? rejection
        self.init(EntryFault(path, rule), job: job)
    }

    public func answer(headers: [ServedAnswer.Header] = []) -> ServedAnswer {
        var object: JSONObject = ["type": "about:blank"]
        object["title"] = Self.titles.first { $0.key == status }.map { .string($0.value) }
        object["status"] = .number(JSONNumber(Int64(status)))
        object["detail"] = .string(detail)
        if !faults.isEmpty { object["errors"] = .array(faults.map { .object($0.json) }) }
        object["job"] = job.map { .string($0) }
        return ServedAnswer(
            status: status,
            type: Self.type,
            body: JSONValue.object(object).jsonBytes,
            headers: headers
        )
    }

    /// The JSON Pointer of what the path of a fault names, such as `/message/data/a.b` of `message.data.a.b`.
    ///
    /// Paths join names by dots. The names below `data` and `headers` are the producer's, and may have dots.
    static func pointer(ofPath path: String) -> String {
        // No member has this name: the fault is that none of the targets is given.
        if path.isEmpty || path == "target" { return "" }
        var names: [String] = []
        var rest = path[...]
        while !rest.isEmpty {
            if let last = names.last, names.count > 1, last == "data" || last == "headers" {
                names.append(String(rest))
                break
            }
            let part = rest.prefix { $0 != "." }
            rest = rest.dropFirst(part.count + 1)
            let name = part.prefix { $0 != "[" }
            names.append(String(name))
            names += part.dropFirst(name.count).split(separator: "[").map { String($0.prefix { $0 != "]" }) }
        }
        return names.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    }
}

extension ProblemDetails.Fault {
    fileprivate var json: JSONObject {
        var object: JSONObject = ["detail": .string(rule)]
        switch place {
        case .pointer(let pointer): object["pointer"] = .string(pointer)
        case .parameter(let name): object["parameter"] = .string(name)
        case .header(let name): object["header"] = .string(name)
        case .line(let line): object["line"] = .number(JSONNumber(Int64(line)))
        }
        return object
    }
}

extension GatewayError {
    /// The same refusal in the form of Fanfare's own API. A path that leads nowhere is a 404 here: no client takes it for
    /// a dead token.
    public var problem: ServedAnswer {
        let error = error
        let status = self == .route ? 404 : error.httpStatus ?? error.code.httpStatus
        return ProblemDetails(status, error.message).answer(headers: error.challenge + headers)
    }
}
