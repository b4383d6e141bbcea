/// Decides in which order the projects of a server are opened on a new connection, and how many at a time. All at once, the
/// calls of a thousand projects would keep Redis busy for longer than an answer may take, and each worker would connect
/// again and again.
///
/// ```
///          begin                       each of the group is opened, or 2 s are over
/// waiting ───────► a group is opened ───────────────────────────────────────────────► the next group, or done
/// ```
/// Projects with results or batches come first, all of them: another worker may claim what a new primary has forgotten.
public struct OpeningPlan: Sendable {
    /// Time between two calls of ``next(now:isOpened:)``, in milliseconds.
    public static let everyMs: Int64 = 20
    private static let groupSize = 50
    /// A project that Redis refuses holds no other one up for longer.
    private static let patienceNs: UInt64 = 2_000_000_000

    /// Projects by their places.
    private var groups: ArraySlice<ArraySlice<Int>>
    private var opening: ArraySlice<Int> = []
    private var endsNs: UInt64 = 0

    /// - Parameter hasResults: by place, whether the worker holds batches of the project, or results that Redis may lack.
    public init(hasResults: [Bool]) {
        let first = hasResults.indices.filter { hasResults[$0] }
        let others = hasResults.indices.filter { !hasResults[$0] }
        groups = first.isEmpty ? [] : [first[...]]
        for start in stride(from: 0, to: others.count, by: Self.groupSize) {
            groups.append(others[start...].prefix(Self.groupSize))
        }
    }

    /// Whether every project was opened.
    public var isDone: Bool { groups.isEmpty }

    /// - Parameter isOpened: whether the project of a place is registered, and was compared.
    /// - Returns: the places of the projects to open now.
    public mutating func next(now: UInt64, isOpened: (Int) -> Bool) -> ArraySlice<Int> {
        guard now >= endsNs || opening.allSatisfy(isOpened), let group = groups.popFirst() else { return [] }
        (opening, endsNs) = (group, now + Self.patienceNs)
        return group
    }
}
