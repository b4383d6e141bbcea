/// An object's members in the order they were written, repeated names included. FCM and most readers let the last of
/// equal names win, so a lookup does too; a caller that must refuse repetition checks ``duplicateKey``.
public struct JSONObject: Equatable, Sendable {
    public struct Member: Equatable, Sendable {
        public var key: String
        public var value: JSONValue

        public init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    public var members: [Member]

    public init(_ members: [Member] = []) {
        self.members = members
    }

    public var isEmpty: Bool { members.isEmpty }
    public var count: Int { members.count }

    /// The value of the last member with this name. Setting replaces it in place (and drops earlier ones), appends it,
    /// or, with nil, removes every member of that name.
    public subscript(key: String) -> JSONValue? {
        get {
            members.last { $0.hasKey(key) }?.value
        }
        set {
            guard let newValue else {
                members.removeAll { $0.hasKey(key) }
                return
            }
            guard let first = members.firstIndex(where: { $0.hasKey(key) }) else {
                members.append(Member(key: key, value: newValue))
                return
            }
            members[first].value = newValue
            members[(first + 1)...].removeAll { $0.hasKey(key) }
        }
    }

    /// The first name that occurs twice, or nil. Names are compared byte for byte: Swift's own string equality would
    /// take a Kelvin sign for a K.
    public var duplicateKey: String? {
        // Among a few, looking at each pair is quicker than a set of copies.
        guard members.count > 12 else {
            return members.indices.first { index in members[..<index].contains { $0.hasKey(members[index].key) } }
                .map { members[$0].key }
        }
        var seen = Set<[UInt8]>(minimumCapacity: members.count)
        return members.first { !seen.insert(Array($0.key.utf8)).inserted }?.key
    }
}

extension JSONObject.Member {
    func hasKey(_ other: String) -> Bool {
        // Most names that are not equal are not as long either.
        key.utf8.count == other.utf8.count && key.utf8.elementsEqual(other.utf8)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Member(key: $0.0, value: $0.1) })
    }
}
