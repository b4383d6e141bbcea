/// Why the gateway itself refuses a request, before it becomes a job.
///
/// No refusal has an `FcmError`, and none is a 404: several clients read any 404 as a dead token and delete it
/// (contract 8, `gateway-facts.md` 0.1). So an unknown project and an unknown route are a 403, and a project that no
/// worker ever served is not told apart from one that the key may not use.
public enum GatewayError: Equatable, Sendable {
    /// The request has no key.
    case noKey
    case wrongKey
    /// An access token of `POST /token` whose hour is over: a new one is accepted.
    case expiredToken
    /// The address tried too many different wrong keys.
    case manyWrongKeys(retryAfterMs: Int64)
    /// The key is not for this project, or no worker ever served it.
    case project(String)
    /// The path names no project, and the key is for these.
    case severalProjects(key: String, [String])
    /// The key lacks a right: `push`, `read` or `operate`.
    case right(String)
    /// No such path.
    case route
    /// - Parameter allowed: the methods of the path, such as `GET, POST`.
    case method(allowed: String)
    case tooLarge(maximumBytes: Int)
    /// The body has a coding or a type that the gateway does not read.
    case mediaType
    /// The body's coding cannot be undone.
    case malformedBody(String)
    /// The key's rate of requests.
    case rate(retryAfterMs: Int64)
    /// Redis is away, there is a backlog, or too many requests wait. Only before the job is in Redis: SDKs repeat a 503.
    case unavailable(String, retryAfterMs: Int64)

    /// The answer in the form of HTTP v1.
    public var v1Answer: ServedAnswer { error.answer(headers: headers) }

    var error: GoogleError {
        switch self {
        case .noKey:
            return GoogleError(.unauthenticated, "Request is missing required authentication credential.")
        case .wrongKey: return GoogleError(.unauthenticated, "The gateway does not know this key.")
        case .expiredToken:
            var error = GoogleError(.unauthenticated, "The access token has expired.")
            error.reason = GoogleError.expiredToken
            return error
        case .manyWrongKeys:
            return GoogleError(.resourceExhausted, "Too many different wrong keys from this address.")
        case .project(let id):
            let resource = "projects/\(Excerpt.plain(id))"
            return GoogleError(.permissionDenied, "Permission denied on resource \(resource) (or it may not exist).")
        case .severalProjects(let key, let projects):
            let shown = projects.prefix(5).joined(separator: ", ") + (projects.count > 5 ? ", …" : "")
            let sentence = "The key \(key) is for several projects (\(shown)); this path needs a key of one project."
            return GoogleError(.permissionDenied, sentence)
        case .right(let name): return GoogleError(.permissionDenied, "The key lacks the right \(name).")
        case .route: return GoogleError(.permissionDenied, "The gateway does not serve this path.")
        case .method(let allowed): return other(405, "Method not allowed; this path takes \(allowed).")
        case .tooLarge(let bytes): return other(413, "The request is too large: at most \(bytes) bytes.")
        case .malformedBody(let fault): return GoogleError(.invalidArgument, "The body is \(fault).")
        case .mediaType: return other(415, "Content-Encoding: must be gzip or left out.")
        case .rate: return GoogleError(.resourceExhausted, "The key's rate of requests is exceeded.")
        case .unavailable(let cause, _): return GoogleError(.unavailable, cause)
        }
    }

    /// A refusal whose status of HTTP belongs to no canonical code.
    private func other(_ status: Int, _ message: String) -> GoogleError {
        var error = GoogleError(.invalidArgument, message)
        error.httpStatus = status
        return error
    }

    var headers: [ServedAnswer.Header] {
        switch self {
        case .manyWrongKeys(let wait), .rate(let wait), .unavailable(_, let wait):
            [ServedAnswer.Header("Retry-After", String(Self.seconds(wait)))]
        case .method(let allowed): [ServedAnswer.Header("Allow", allowed)]
        default: []
        }
    }

    /// Whole seconds, 1 to 30: clients do not repeat after a longer wait (.NET 30 s, Node and Java 60 s), and a thread of
    /// Python's SDK sleeps all of it (`gateway-facts.md` 2).
    static func seconds(_ milliseconds: Int64) -> Int64 {
        (min(max(milliseconds, 1), 30_000) + 999) / 1_000
    }
}
