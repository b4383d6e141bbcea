internal import FanfareJSON
public import FanfareModel

/// An audience that the gateway writes and that jobs name by its key: `/v1/projects/{project}/audiences/{name}`.
public struct StoredAudience: Equatable, Sendable {
    /// How long an audience is kept unless `?expires=` says otherwise, seconds.
    public static let usualExpiry: Int64 = 7 * 86_400
    public static let expiries: ClosedRange<Int64> = 60...2_592_000
    /// A name may not begin with a dot: drafts do.
    static let namePattern = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}"

    private let project: String
    private let name: String

    /// - Throws: the fault of a name that does not match ``namePattern``.
    public init(_ name: String, in project: String) throws(ProblemDetails) {
        guard (1...128).contains(name.utf8.count), !name.hasPrefix("."),
            name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._-".utf8.contains($0) })
        else { throw ProblemDetails(422, "The name of an audience must match \(Self.namePattern).") }
        (self.project, self.name) = (project, name)
    }

    /// The list of Redis.
    public var key: String { "audience:{\(project)}:gateway:\(name)" }

    /// The list of an audience that is being written.
    public func draft(_ id: String) -> String { "audience:{\(project)}:gateway:.\(name).\(id)" }

    /// The answer to a request that stored it.
    ///
    /// - Parameter isNew: whether there was no audience of this name.
    public func stored(_ format: AudienceFormat, count: Int, expirySeconds: Int64, isNew: Bool) -> ServedAnswer {
        let object: JSONObject = [
            "audience": .string(key), "audience_format": .string(format.rawValue),
            "count": .number(JSONNumber(Int64(count))), "expires_in": .number(JSONNumber(expirySeconds)),
        ]
        return .json(object, status: isNew ? 201 : 200)
    }
}
